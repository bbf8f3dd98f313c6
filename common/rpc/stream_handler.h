#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"

// One side of a bidirectional stream, without gRPC: the logic of a service is written and tested against these two.

namespace waggle {

// What a handler may do to its peer. Thread-safe; every call is a no-op once the stream has ended, so late callbacks
// need no guarding.
template <class Outgoing>
class StreamPeer {
 public:
  virtual ~StreamPeer() = default;

  // Queues a message. `sent` is called, from any thread, once the transport has taken it (the calls for two messages
  // may come in any order); it is dropped uncalled if the stream ends before. A handler bounds what it queues by
  // waiting for `sent`.
  virtual void Send(Outgoing message, std::function<void()> sent = nullptr) = 0;

  // Asks for one more message. Not asking is how a handler makes its peer wait.
  virtual void RequestNext() = 0;

  // Ends the stream: after what is queued if `status` is OK; otherwise what is queued is dropped. A client's stream
  // then ends at once. A server's ends when the transport has the message that it holds, so that the peer learns the
  // status: a peer that reads nothing holds up its own stream until it reads or goes.
  virtual void Close(absl::Status status) = 0;

  // Ends the stream with an error at once, whatever the transport holds: for a peer that does not read. What it learns
  // may be no more than that the stream was cancelled.
  virtual void Abort(absl::Status status) { Close(std::move(status)); }
};

// One peer's stream. Calls arrive one at a time; destruction is the end of the stream. There is deliberately no call
// for a cancelled stream: gRPC reports that on a thread of its own, beside the others.
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
