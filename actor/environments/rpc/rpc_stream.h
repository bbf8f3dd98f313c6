#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace waggle {

// Metadata of a call. Keys are lower-case.
using CallMetadata = std::vector<std::pair<std::string, std::string>>;

// The client's side of one call of a bidirectional method, on a completion queue that several streams share. Messages
// are written in order. The queue's owner passes each event to the stream in its tag. One thread.
class RpcStream {
 public:
  // An operation under way: the queue's tag.
  struct Operation {
    enum class Kind { kRead, kWrite, kFinish };
    RpcStream* stream = nullptr;
    Kind kind = Kind::kRead;
  };
  enum class Event { kNothing, kMessage, kEnded };

  // `owner()` returns `owner`. The call begins with the first message.
  RpcStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const CallMetadata& metadata,
            grpc::CompletionQueue* queue, void* owner);
  // May be destroyed once has_ended() is true.
  ~RpcStream() = default;
  RpcStream(const RpcStream&) = delete;
  RpcStream& operator=(const RpcStream&) = delete;

  void* owner() const { return owner_; }

  void Write(grpc::ByteBuffer message);
  // Tells the server that no more messages follow.
  void WritesDone();
  void Cancel() { context_.TryCancel(); }

  // Handles an event of the queue. After kMessage, `message()` is the message, until the next event. After kEnded,
  // `status()` is the reason.
  Event Take(const Operation& operation, bool ok);
  grpc::ByteBuffer& message() { return incoming_; }
  const absl::Status& status() const { return status_; }
  // True if no operation is under way, nor will be.
  bool has_ended() const { return !begun_ || (ended_ && !writing_); }

  // Reads the next message. Called after kMessage.
  void ReadNext();

 private:
  void WriteNext();

  void* const owner_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  Operation read_{this, Operation::Kind::kRead};
  Operation write_{this, Operation::Kind::kWrite};
  Operation finish_{this, Operation::Kind::kFinish};
  std::deque<grpc::ByteBuffer> outbox_;
  grpc::ByteBuffer incoming_;
  grpc::Status grpc_status_;
  absl::Status status_;
  bool begun_ = false;
  bool writing_ = false;
  bool done_ = false;  // No more messages will be written.
  bool half_closed_ = false;
  bool broken_ = false;  // Messages are dropped.
  bool ended_ = false;
};

struct RpcEvent {
  const RpcStream::Operation* operation = nullptr;
  bool ok = false;  // For RpcStream::Take.
};

// The queue's next event. Waits up to `timeout` for it.
std::optional<RpcEvent> NextEvent(grpc::CompletionQueue* queue, absl::Duration timeout);

}  // namespace waggle
