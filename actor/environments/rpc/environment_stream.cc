#include "actor/environments/rpc/environment_stream.h"

#include <utility>

#include "absl/status/status.h"
#include "common/base/guard.h"

namespace waggle {
namespace {

Executor::LaneOptions OneAtATime() {
  Executor::LaneOptions options;
  options.max_running = 1;
  return options;
}

}  // namespace

EnvironmentStream::EnvironmentStream(ServedWorlds* worlds, Executor* executor)
    : session_(std::make_shared<EnvironmentSession>(worlds)), lane_(executor, OneAtATime()) {}

void EnvironmentStream::OnOpen(std::shared_ptr<StreamPeer<Message<dm::EnvironmentResponse>>> peer) {
  peer_ = std::move(peer);
  session_->OnOpen(peer_);
}

void EnvironmentStream::OnMessage(Message<dm::EnvironmentRequest> message) {
  absl::Status queued = lane_.Submit([session = session_, peer = peer_, message = std::move(message)]() mutable {
    absl::Status failed = Guarded([&] { session->OnMessage(std::move(message)); });
    if (!failed.ok()) {
      peer->Close(std::move(failed));
    }
  });
  if (!queued.ok()) {
    peer_->Close(std::move(queued));
  }
}

}  // namespace waggle
