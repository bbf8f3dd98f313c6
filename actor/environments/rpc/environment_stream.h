#pragma once

#include <memory>

#include "actor/environments/rpc/environment_session.h"
#include "actor/environments/rpc/protocol.h"
#include "common/base/threads/executor.h"
#include "common/net/message.h"
#include "common/net/stream_handler.h"

namespace waggle {

// An EnvironmentSession whose requests are answered on an executor's threads, as making and stepping environments takes
// too long for the transport's threads. If the stream ends during a request, the answer is dropped, and the session
// leaves its world after it.
class EnvironmentStream final
    : public StreamHandler<Message<dm::EnvironmentRequest>, Message<dm::EnvironmentResponse>> {
 public:
  // `worlds` outlives the executor's tasks, and the executor this.
  EnvironmentStream(ServedWorlds* worlds, Executor* executor);

  void OnOpen(std::shared_ptr<StreamPeer<Message<dm::EnvironmentResponse>>> peer) override;
  void OnMessage(Message<dm::EnvironmentRequest> message) override;
  void OnPeerDone() override { session_->OnPeerDone(); }

 private:
  // Shared with the request being answered: at most one, as the next is requested after its answer.
  const std::shared_ptr<EnvironmentSession> session_;
  std::shared_ptr<StreamPeer<Message<dm::EnvironmentResponse>>> peer_;
  Executor::Lane lane_;
};

}  // namespace waggle
