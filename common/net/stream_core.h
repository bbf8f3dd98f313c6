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

// The operations that a core begins on its reactor. All return at once.
class StreamOperations {
 public:
  virtual ~StreamOperations() = default;
  virtual void Read(grpc::ByteBuffer* message) = 0;
  // After the `last` message a server's stream ends with OK.
  virtual void Write(const grpc::ByteBuffer* message, bool last) = 0;
  virtual void Cancel() = 0;
  // A server's side: ends the stream. The only operation that begins without the core's lock.
  virtual void Finish(const absl::Status& /*status*/, bool /*peer_left*/) {}
  // A client's side: no message follows.
  virtual void HalfClose() {}
  // A client's side: nothing but reads will be begun.
  virtual void Release() {}
};

// The state of a stream's side, server or client, and the order of its operations: one read and one write at a time,
// messages in their order, and one end. The reactor shares it with all that hold the peer, and leaves it by Detach.
class StreamCore final : public RawStreamPeer {
 public:
  enum class Side { kServer, kClient };
  StreamCore(Side side, StreamOperations* reactor) : side_(side), reactor_(reactor) {}

  void Send(grpc::ByteBuffer message, std::function<void()> sent) override {
    Queue({&message, std::move(sent), false});
  }
  // A server's side: the same as Send and Close with OK, in one operation.
  void SendLast(grpc::ByteBuffer message) { Queue({&message, nullptr, true}); }
  void RequestNext() override ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(absl::Status status) override { End(std::move(status), /*peer_left=*/false); }
  void Abort(absl::Status status) override ABSL_LOCKS_EXCLUDED(mutex_);

  // The reactions. `deliver` is called with the message; with null if the peer has sent its last one.
  void ReadEnded(bool ok, absl::FunctionRef<void(grpc::ByteBuffer*)> deliver) ABSL_LOCKS_EXCLUDED(mutex_);
  void WriteEnded(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void PeerLeft(absl::Status status) { End(std::move(status), /*peer_left=*/true); }
  // The reactor is about to be deleted. Returns the status that ended the stream on this side; OK if none did.
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
  // Drops the queued messages but the one that is being written, and lets a client's reactor go.
  void StopLocked(std::vector<Outgoing>* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the stream's last operation if it is due, for a call without the lock; null if it is not.
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
