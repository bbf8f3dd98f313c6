#include "replay_server/service/counted_call.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "common/base/log_context.h"
#include "common/net/call_trace.h"
#include "common/net/status_convert.h"

namespace waggle {

std::string PeerOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  if (absl::StartsWith(peer, "ipv4:") || absl::StartsWith(peer, "ipv6:")) {
    return absl::StrReplaceAll(peer.substr(5), {{"%5B", "["}, {"%5D", "]"}});
  }
  return peer;
}

std::function<void(const absl::Status&)> CountInto(Refusals* refusals, const char* method,
                                                   const grpc::CallbackServerContext* context) {
  // Copies the peer and the trace now: gRPC forgets the peer of a cancelled call.
  return [refusals, method, peer = PeerOf(*context), trace_id = TraceIdOf(*context)](const absl::Status& status) {
    const LogScope scope({"", "", trace_id});
    refusals->Count(status, method, peer);
  };
}

void CountedCall::Finish(const absl::Status& status) const {
  if (!status.ok()) {
    const LogScope scope({"", "", TraceIdOf(*context_)});
    refusals_->Count(status, method_, peer());
  }
  reactor_->Finish(ToGrpcStatus(status));
}

void CountedCall::FinishWritten(const absl::Status& status) const {
  // A stopped journal means that this server is about to end: the client must come back.
  Finish(absl::IsCancelled(status)
             ? Refusal(absl::StatusCode::kUnavailable, reasons::kStopping, "the replay server is stopping")
             : WithReason(reasons::kDisk, status));
}

absl::Status CountedCall::FinishWith(const absl::Status& status) const {
  if (status.ok()) {
    Finish(status);
  }
  return status;
}

absl::Status CountedCall::FinishWith(const absl::StatusOr<std::shared_ptr<Table>>& changed) const {
  if (changed.ok()) {
    (*changed)->AfterCommit([call = *this](const absl::Status& status) { call.FinishWritten(status); });
  }
  return changed.status();
}

absl::Status CountedCall::Submit(TaskQueue* queue, size_t bytes, std::function<void()> task) {
  return queue->SubmitBytes(static_cast<int64_t>(bytes), std::move(task)).ok()
             ? absl::OkStatus()
             : Refusal(absl::StatusCode::kUnavailable, reasons::kTooBusy, "the replay server is too busy");
}

}  // namespace waggle
