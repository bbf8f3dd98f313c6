#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"

// One side of a bidirectional stream, without gRPC, for the logic of services and their tests.

namespace waggle {

// A handler's calls on its stream. Thread-safe. No-ops once the stream has ended, so late callbacks need no guard.
template <class Outgoing>
class StreamPeer {
 public:
  virtual ~StreamPeer() = default;

  // Queues a message. Calls `sent`, from any thread and in any order, once the transport has taken the message; never
  // if the stream ends before. The queue has no limit: a handler bounds it by waiting for `sent`.
  virtual void Send(Outgoing message, std::function<void()> sent = nullptr) = 0;

  // Asks for one more message. A handler that does not ask makes its peer wait.
  virtual void RequestNext() = 0;

  // Ends the stream: after the queued messages if `status` is OK, otherwise without them. A client's stream then ends
  // at once. A server's stream ends after the message that is being written, so that the peer learns the status.
  virtual void Close(absl::Status status) = 0;

  // Ends the stream with an error at once, even if the peer does not read. The peer may only learn of a cancellation.
  virtual void Abort(absl::Status status) { Close(std::move(status)); }
};

// The logic of one stream. Calls come one at a time; the destructor is the end of the stream. A cancelled stream has no
// call, because gRPC reports it from another thread.
template <class Incoming, class Outgoing>
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;

  // The first message has been asked for already.
  virtual void OnOpen(std::shared_ptr<StreamPeer<Outgoing>> peer) = 0;
  virtual void OnMessage(Incoming message) = 0;
  // The peer will send no more.
  virtual void OnPeerDone() = 0;
};

}  // namespace waggle
