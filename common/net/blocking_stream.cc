#include "common/net/blocking_stream.h"

#include <grpc/support/time.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/deadline.h"
#include "common/net/call_trace.h"
#include "common/net/status_convert.h"

namespace waggle {
namespace {

// The library sometimes does not wake a thread that waits on its own queue (grpc#21227). A second look, after this
// time, finds the event.
constexpr absl::Duration kLook = absl::Seconds(1);

gpr_timespec FromNow(absl::Duration duration) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(absl::ToInt64Nanoseconds(duration), GPR_TIMESPAN));
}

}  // namespace

BlockingStream::BlockingStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                               absl::Duration idle_timeout, const StopToken& stop)
    : idle_timeout_(idle_timeout),
      stop_(stop),
      context_(std::make_shared<grpc::ClientContext>()),
      call_(grpc::GenericStub(channel).PrepareCall(context_.get(), method, &queue_)),
      on_stop_(stop, [context = context_] { context->TryCancel(); }) {
  AddTrace(context_.get());
  context_->set_initial_metadata_corked(true);
  call_->StartCall(nullptr);  // The call begins with its first message.
}

BlockingStream::~BlockingStream() {
  if (!finished_) {
    context_->TryCancel();
    (void)Finish();
  }
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

bool BlockingStream::Write(const grpc::ByteBuffer& message) {
  return Step([&] { call_->Write(message, nullptr); });
}

bool BlockingStream::WriteLast(const grpc::ByteBuffer& message) {
  return Step([&] { call_->WriteLast(message, grpc::WriteOptions(), nullptr); });
}

bool BlockingStream::WritesDone() {
  return Step([&] { call_->WritesDone(nullptr); });
}

bool BlockingStream::Read(grpc::ByteBuffer* message) {
  return Step([&] { call_->Read(message, nullptr); });
}

bool BlockingStream::Step(absl::FunctionRef<void()> begin) {
  if (!broken_) {
    begin();
    broken_ = !WaitForStep();
  }
  return !broken_;
}

absl::Status BlockingStream::Finish() {
  grpc::Status status;
  call_->Finish(&status, nullptr);
  WaitForStep();
  finished_ = true;
  if (timed_out_) {
    return absl::UnavailableError(absl::StrCat("no answer within ", absl::FormatDuration(idle_timeout_)));
  }
  if (!status.ok() && stop_.StopRequested()) {
    return absl::CancelledError("stopped during the call");
  }
  return FromGrpcStatus(status);
}

bool BlockingStream::WaitForStep() {
  void* tag = nullptr;
  bool ok = false;
  const Deadline deadline(idle_timeout_);
  bool cancelled = false;
  while (queue_.AsyncNext(&tag, &ok, FromNow(cancelled ? kLook : std::min(kLook, deadline.Left()))) ==
         grpc::CompletionQueue::TIMEOUT) {
    if (!cancelled && deadline.Left() == absl::ZeroDuration()) {
      timed_out_ = true;
      cancelled = true;
      context_->TryCancel();  // A cancelled step ends soon.
    }
  }
  return ok;
}

}  // namespace waggle
