#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/rpc/protocol.h"
#include "actor/environments/rpc/served_worlds.h"
#include "common/net/message.h"
#include "common/net/stream_handler.h"

namespace waggle {

// One client's stream of dm_env_rpc. It answers each request, in their order, with a response of its kind or an error;
// the stream continues after an error. The stream's end leaves the world. The bytes of an extension are a message's
// data.
class EnvironmentSession final
    : public StreamHandler<Message<dm::EnvironmentRequest>, Message<dm::EnvironmentResponse>> {
 public:
  // `worlds` outlives this.
  explicit EnvironmentSession(ServedWorlds* worlds) : worlds_(worlds) {}
  ~EnvironmentSession() override;

  void OnOpen(std::shared_ptr<StreamPeer<Message<dm::EnvironmentResponse>>> peer) override { peer_ = std::move(peer); }
  void OnMessage(Message<dm::EnvironmentRequest> message) override;
  void OnPeerDone() override { peer_->Close(absl::OkStatus()); }

 private:
  absl::Status Answer(const Message<dm::EnvironmentRequest>& message, dm::EnvironmentResponse* response);
  absl::Status Join(const dm::JoinWorldRequest& request, dm::JoinWorldResponse* response);
  absl::Status Step(const dm::StepRequest& request, dm::StepResponse* response);
  absl::Status Reset(const dm::ResetRequest& request, dm::ResetResponse* response);
  absl::Status ResetWorld(const dm::ResetWorldRequest& request);
  absl::Status Extension(const std::string& bytes, google::protobuf::Any* response) const;
  void Leave();

  ServedWorlds* const worlds_;
  std::shared_ptr<StreamPeer<Message<dm::EnvironmentResponse>>> peer_;
  std::shared_ptr<WorldMember> member_;  // Null unless a world is joined.
};

}  // namespace waggle
