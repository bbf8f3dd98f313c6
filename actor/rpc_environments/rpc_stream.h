#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace waggle {

// Sent with a call: keys are lower-case.
using CallMetadata = std::vector<std::pair<std::string, std::string>>;

// The client's side of one call of a bidirectional method, by a completion queue that several streams share: messages
// are read as long as there are any, and written in their order. The queue's owner hands each event to the stream that
// is its tag. One thread.
class RpcStream {
 public:
  // An operation under way: the queue's tag.
  struct Operation {
    enum class Kind { kRead, kWrite, kFinish };
    RpcStream* stream = nullptr;
    Kind kind = Kind::kRead;
  };
  enum class Event { kNothing, kMessage, kEnded };

  // `owner` is what `owner()` returns. The call begins with the first message.
  RpcStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const CallMetadata& metadata,
            grpc::CompletionQueue* queue, void* owner);
  // May be destroyed once it has_ended, or if nothing was written.
  ~RpcStream() = default;
  RpcStream(const RpcStream&) = delete;
  RpcStream& operator=(const RpcStream&) = delete;

  void* owner() const { return owner_; }

  void Write(grpc::ByteBuffer message);
  // There will be no more messages.
  void WritesDone();
  void Cancel() { context_.TryCancel(); }

  // Takes an event of the queue. After kMessage, `message()` is what came, until the next event; after kEnded,
  // `status()` says why.
  Event Take(const Operation& operation, bool ok);
  grpc::ByteBuffer& message() { return incoming_; }
  const absl::Status& status() const { return status_; }
  // No operation is under way any more, nor will be.
  bool has_ended() const { return !begun_ || (ended_ && !writing_); }

  // After kMessage: reads on.
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

}  // namespace waggle
