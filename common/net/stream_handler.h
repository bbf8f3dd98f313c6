#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"

// One side of a bidirectional stream, without gRPC. The logic of a service is written and tested against these two
// classes.

namespace waggle {

// The calls by which a handler acts on its stream. Thread-safe. Every call is a no-op once the stream has ended, so
// late callbacks need no guard.
template <class Outgoing>
class StreamPeer {
 public:
  virtual ~StreamPeer() = default;

  // Queues a message. `sent` is called, from any thread, once the transport has taken the message; the calls for two
  // messages may come in any order. If the stream ends before, `sent` is dropped and not called. The queue has no limit
  // of its own: a handler bounds it by waiting for `sent`.
  virtual void Send(Outgoing message, std::function<void()> sent = nullptr) = 0;

  // Asks for one more message. A handler that does not ask makes its peer wait.
  virtual void RequestNext() = 0;

  // Ends the stream: after the queued messages if `status` is OK; otherwise these are dropped. A client's stream then
  // ends at once. A server's stream ends when the transport has the message that it is writing, so that the peer learns
  // the status: a peer that reads nothing delays that until it reads or goes.
  virtual void Close(absl::Status status) = 0;

  // Ends the stream with an error at once, even if the peer does not read. The peer may learn only that the stream was
  // cancelled.
  virtual void Abort(absl::Status status) { Close(std::move(status)); }
};

// The logic of one stream. Calls arrive one at a time; destruction is the end of the stream. There is deliberately no
// call for a cancelled stream: gRPC reports that on a thread of its own, beside the others.
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
