#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/stop_token.h"

namespace waggle {

// The client's side of a streaming call of raw messages, for a thread that has nothing else to do meanwhile. One
// thread.
//
// Every step waits for at most `idle_timeout`, after which the call is cancelled: a peer that hangs is noticed however
// long the whole call may rightly take. A stop cancels the call too.
class BlockingStream {
 public:
  BlockingStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, absl::Duration idle_timeout,
                 const StopToken& stop);
  ~BlockingStream();  // Cancels the call if it has not ended.
  BlockingStream(const BlockingStream&) = delete;
  BlockingStream& operator=(const BlockingStream&) = delete;

  // False: the stream has ended; Finish says why. The call begins with the first of these three.
  bool Write(const grpc::ByteBuffer& message);
  bool WriteLast(const grpc::ByteBuffer& message);  // Write and WritesDone at once.
  bool WritesDone();
  bool Read(grpc::ByteBuffer* message);

  // How the call ended, once the peer has ended it. CANCELLED after a stop; UNAVAILABLE after a timeout.
  absl::Status Finish();

 private:
  // Waits for the one operation that is under way.
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
