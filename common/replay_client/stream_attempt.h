#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/rpc/client_stream.h"

namespace waggle {

// One stream of a client that opens another one when it has ended (StreamKeeper). The client's own first error ends it,
// and is what the keeper is told, also where the server ended the stream, or went away, at the same moment.
template <class Incoming, class Outgoing>
class StreamAttempt : public ClientStreamHandler<Incoming, Outgoing> {
 public:
  using Peer = StreamPeer<Outgoing>;

  // `opened` is called when the server has answered, `ended` when the stream has ended.
  StreamAttempt(std::function<void()> opened, std::function<void(absl::Status)> ended)
      : opened_(std::move(opened)), ended_(std::move(ended)) {}

  void OnOpen(std::shared_ptr<Peer> peer) final {
    peer_ = std::move(peer);
    Begin();
  }
  void OnMessage(Incoming message) final {
    absl::Status status = Handle(std::move(message));
    if (!status.ok()) {
      failure_ = status;
      Failed(status);
      peer_->Close(std::move(status));
      return;
    }
    peer_->RequestNext();
  }
  void OnPeerDone() final {}
  void OnClosed(absl::Status status) final {
    Closed();
    ended_(failure_.ok() ? std::move(status) : failure_);
  }

 protected:
  // Sends the first message.
  virtual void Begin() = 0;
  virtual absl::Status Handle(Incoming message) = 0;
  // The client's own error, at once; the keeper hears of it when the stream has ended.
  virtual void Failed(const absl::Status& /*failure*/) {}
  virtual void Closed() = 0;

  const std::shared_ptr<Peer>& peer() const { return peer_; }
  // Whether the server has answered.
  bool is_open() const { return is_open_; }
  void SetOpen() {
    is_open_ = true;
    opened_();
  }

 private:
  const std::function<void()> opened_;
  const std::function<void(absl::Status)> ended_;
  std::shared_ptr<Peer> peer_;
  bool is_open_ = false;
  absl::Status failure_;
};

// The peer of the current attempt, for whoever wants to end it, and every later one. Thread-safe.
template <class Outgoing>
class CurrentPeer {
 public:
  void Begins(std::shared_ptr<StreamPeer<Outgoing>> peer) ABSL_LOCKS_EXCLUDED(mutex_) {
    bool cancelled = false;
    {
      MutexLock lock(&mutex_);
      peer_ = peer;
      cancelled = cancelled_;
    }
    if (cancelled) {
      peer->Close(Gone());
    }
  }
  void Ended() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    peer_ = nullptr;
  }
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<StreamPeer<Outgoing>> peer;
    {
      MutexLock lock(&mutex_);
      cancelled_ = true;
      peer = peer_;
    }
    if (peer != nullptr) {
      peer->Close(Gone());
    }
  }

 private:
  static absl::Status Gone() { return absl::CancelledError("the client has no more use for the stream"); }

  Mutex mutex_;
  std::shared_ptr<StreamPeer<Outgoing>> peer_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
