#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/threads/mutex.h"
#include "common/net/channel.h"
#include "common/net/client_stream.h"

namespace waggle::testing {

inline constexpr char kInsert[] = "/waggle.v1.ReplayService/Insert";
inline constexpr char kSample[] = "/waggle.v1.ReplayService/Sample";

// Records a stream's messages, as numbers, and its end. Thread-safe. Waits last at most half a minute.
class Seen {
 public:
  void Add(uint64_t sequence) {
    MutexLock lock(&mutex_);
    sequences_.push_back(sequence);
    changed_.SignalAll();
  }
  void Close(absl::Status status) {
    MutexLock lock(&mutex_);
    status_ = std::move(status);
    ++closed_;
    changed_.SignalAll();
  }
  bool AwaitCount(size_t count) {
    MutexLock lock(&mutex_);
    while (sequences_.size() < count) {
      if (!changed_.WaitFor(&mutex_, absl::Seconds(30))) {
        return false;
      }
    }
    return true;
  }
  bool AwaitClosed() {
    MutexLock lock(&mutex_);
    while (closed_ == 0) {
      if (!changed_.WaitFor(&mutex_, absl::Seconds(30))) {
        return false;
      }
    }
    return true;
  }
  // The status with which the stream ends; DEADLINE_EXCEEDED if it does not end.
  absl::Status AwaitEnd() { return AwaitClosed() ? status() : absl::DeadlineExceededError("the stream did not end"); }
  std::vector<uint64_t> sequences() const {
    MutexLock lock(&mutex_);
    return sequences_;
  }
  absl::Status status() const {
    MutexLock lock(&mutex_);
    return status_;
  }
  int closed() const {
    MutexLock lock(&mutex_);
    return closed_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<uint64_t> sequences_;
  absl::Status status_;
  int closed_ = 0;
};

// The acknowledged sequence; 0 for a raw message.
template <class Incoming>
uint64_t SequenceOf([[maybe_unused]] const Incoming& message) {
  if constexpr (std::is_same_v<Incoming, grpc::ByteBuffer>) {
    return 0;
  } else {
    return message.header.ack().applied_sequence();
  }
}

// A client's stream and its records. Its end cancels the stream and waits until it has closed: an unread
// stream would never end.
template <class Incoming, class Outgoing>
struct SeenStream {
  using Peer = StreamPeer<Outgoing>;

  // Records the messages; reads on only if `reads_on`.
  class Client final : public ClientStreamHandler<Incoming, Outgoing> {
   public:
    Client(SeenStream* stream, bool reads_on) : seen_(stream->seen), out_(&stream->peer), reads_on_(reads_on) {}
    void OnOpen(std::shared_ptr<Peer> peer) override { *out_ = peer_ = std::move(peer); }
    void OnMessage(Incoming message) override {
      seen_->Add(SequenceOf(message));
      if (reads_on_) {
        peer_->RequestNext();
      }
    }
    void OnPeerDone() override {}
    void OnClosed(absl::Status status) override { seen_->Close(std::move(status)); }

   private:
    const std::shared_ptr<Seen> seen_;
    std::shared_ptr<Peer>* const out_;  // Written during OnOpen, in the opening thread.
    const bool reads_on_;
    std::shared_ptr<Peer> peer_;
  };

  SeenStream() = default;
  SeenStream(SeenStream&&) = default;
  SeenStream& operator=(SeenStream&&) = delete;
  ~SeenStream() {
    if (peer != nullptr) {
      peer->Close(absl::CancelledError("the test has ended"));
      (void)seen->AwaitClosed();
    }
  }

  std::shared_ptr<Seen> seen = std::make_shared<Seen>();
  std::shared_ptr<Peer> peer;
};

// A stream of a replay service whose messages a test makes itself, as no client of ours would.
struct RawStream : SeenStream<grpc::ByteBuffer, grpc::ByteBuffer> {
  RawStream(const std::string& address, const std::string& method, bool reads_on = true)
      : RawStream(NewChannel(address, "hostile"), method, reads_on) {}
  RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, bool reads_on = true) {
    OpenRawClientStream(channel, method, std::make_unique<Client>(this, reads_on));
  }
};

}  // namespace waggle::testing
