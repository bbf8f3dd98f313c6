#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// The client's side of a raw streaming call, for a thread that waits for each step. One thread.
// A step longer than `idle_timeout` cancels the call, so that a hanging peer is noticed in calls of any length. A stop
// cancels it too.
class BlockingStream {
 public:
  BlockingStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, absl::Duration idle_timeout,
                 const StopToken& stop);
  ~BlockingStream();  // Cancels the call if it has not ended.
  BlockingStream(const BlockingStream&) = delete;
  BlockingStream& operator=(const BlockingStream&) = delete;

  // Returns false if the stream has ended: Finish then returns the reason. The call begins with the first write.
  bool Write(const grpc::ByteBuffer& message);
  bool WriteLast(const grpc::ByteBuffer& message);  // Write and WritesDone at once.
  bool WritesDone();
  bool Read(grpc::ByteBuffer* message);

  // Waits for the end of the call and returns its status. CANCELLED after a stop; UNAVAILABLE after a timeout.
  absl::Status Finish();

 private:
  // Begins an operation and waits for it.
  bool Step(absl::FunctionRef<void()> begin);
  bool WaitForStep();

  const absl::Duration idle_timeout_;
  const StopToken stop_;
  const std::shared_ptr<grpc::ClientContext> context_;  // Shared with the stop callback, which may outlive the stream.
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool timed_out_ = false;
  bool broken_ = false;  // A step has failed.
  bool finished_ = false;
  const StopToken::Callback on_stop_;
};

}  // namespace waggle
