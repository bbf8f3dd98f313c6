#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/base/threads/mutex.h"
#include "common/net/raw_codec.h"
#include "common/net/stream_handler.h"

namespace waggle {

using RawStreamPeer = StreamPeer<grpc::ByteBuffer>;

// A core's operations on its reactor. All return at once.
class StreamOperations {
 public:
  virtual ~StreamOperations() = default;
  virtual void Read(grpc::ByteBuffer* message) = 0;
  // After the `last` message, a server's stream ends with OK.
  virtual void Write(const grpc::ByteBuffer* message, bool last) = 0;
  virtual void Cancel() = 0;
  // For servers: ends the stream. The only operation that begins without the core's lock.
  virtual void Finish(const absl::Status& /*status*/, bool /*peer_left*/) {}
  // For clients: no message follows.
  virtual void HalfClose() {}
  // For clients: only reads follow.
  virtual void Release() {}
};

// The state of one side of a stream. Orders its operations: one read and one write at a time, and one end. Shared by
// the reactor, which leaves it by Detach, and all holders of the peer.
class StreamCore final : public RawStreamPeer {
 public:
  enum class Side { kServer, kClient };
  StreamCore(Side side, StreamOperations* reactor) : side_(side), reactor_(reactor) {}

  void Send(grpc::ByteBuffer message, std::function<void()> sent) override {
    Queue({&message, std::move(sent), false});
  }
  // For servers: Send and Close(OK) in one operation.
  void SendLast(grpc::ByteBuffer message) { Queue({&message, nullptr, true}); }
  void RequestNext() override ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(absl::Status status) override { End(std::move(status), /*peer_left=*/false); }
  void Abort(absl::Status status) override ABSL_LOCKS_EXCLUDED(mutex_);

  // The reactor's reactions. `deliver` gets the message, or null after the peer's last one.
  void ReadEnded(bool ok, absl::FunctionRef<void(grpc::ByteBuffer*)> deliver) ABSL_LOCKS_EXCLUDED(mutex_);
  void WriteEnded(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void PeerLeft(absl::Status status) { End(std::move(status), /*peer_left=*/true); }
  // The reactor is about to be deleted. Returns the status that ended the stream on this side; OK without one.
  absl::Status Detach() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Outgoing {
    Outgoing(grpc::ByteBuffer* from, std::function<void()> call, bool is_last) : sent(std::move(call)), last(is_last) {
      message.Swap(from);  // A buffer has no move constructor, and copies its list of slices.
    }
    Outgoing(Outgoing&& other) noexcept : Outgoing(&other.message, std::move(other.sent), other.last) {}

    grpc::ByteBuffer message;
    std::function<void()> sent;
    bool last;
  };

  void Queue(Outgoing outgoing) ABSL_LOCKS_EXCLUDED(mutex_);
  void End(absl::Status status, bool peer_left) ABSL_LOCKS_EXCLUDED(mutex_);
  void ReadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops the queued messages but the one being written, and releases a client's reactor.
  void StopLocked(std::vector<Outgoing>* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the stream's last operation, to be called without the lock, if it is due; otherwise null.
  std::function<void()> FinishLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Side side_;
  Mutex mutex_;
  StreamOperations* reactor_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer incoming_;  // Owned by the read under way, then by the delivery.
  std::deque<Outgoing> outbox_ ABSL_GUARDED_BY(mutex_);
  absl::Status final_status_ ABSL_GUARDED_BY(mutex_);
  bool peer_left_ ABSL_GUARDED_BY(mutex_) = false;   // The reason of final_status_.
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;     // A read is under way.
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;  // The handler holds a message.
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;      // The handler asked for the next one meanwhile.
  bool all_read_ ABSL_GUARDED_BY(mutex_) = false;    // The peer has sent its last message.
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;     // A write is under way: outbox_'s first message.
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;     // No more messages are queued.
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;     // No more messages are delivered.
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;    // The last operation has begun.
};

// A peer that encodes its messages.
template <class Header>
class EncodingPeer final : public StreamPeer<Message<Header>> {
 public:
  explicit EncodingPeer(std::shared_ptr<RawStreamPeer> raw) : raw_(std::move(raw)) {}

  void Send(Message<Header> message, std::function<void()> sent) override {
    raw_->Send(EncodeMessage(message), std::move(sent));
  }
  void RequestNext() override { raw_->RequestNext(); }
  void Close(absl::Status status) override { raw_->Close(std::move(status)); }
  void Abort(absl::Status status) override { raw_->Abort(std::move(status)); }

 private:
  const std::shared_ptr<RawStreamPeer> raw_;
};

}  // namespace waggle
