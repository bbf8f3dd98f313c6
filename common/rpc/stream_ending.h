#pragma once

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "common/rpc/status_convert.h"

namespace waggle {

// Told, before the peer is, with which error a server's side has ended a stream. Not of a peer that has gone.
using StreamRefused = std::function<void(const absl::Status&)>;

// What a stream ends with, once its time has come.
template <class Reactor>
struct StreamEnding {
  Reactor* reactor = nullptr;  // There until it is finished.
  absl::Status status;
  bool peer_left = false;  // And that is why.
};

// Ends the stream, if there is an ending. To be called under no lock, because it calls others.
template <class Reactor>
void FinishStream(const std::optional<StreamEnding<Reactor>>& ending, const StreamRefused& refused) {
  if (!ending.has_value()) {
    return;
  }
  if (refused != nullptr && !ending->status.ok() && !ending->peer_left) {
    refused(ending->status);
  }
  ending->reactor->Finish(ToGrpcStatus(ending->status));
}

}  // namespace waggle
