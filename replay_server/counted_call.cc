// No test of its own: refused_requests_test.cc calls a service whose every call ends here.

#include "replay_server/counted_call.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "common/rpc/status_convert.h"

namespace waggle {
namespace {

absl::Status TooBusy() {
  return Refusal(absl::StatusCode::kUnavailable, reasons::kTooBusy, "the replay server is too busy");
}

}  // namespace

std::string PeerOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  if (absl::StartsWith(peer, "ipv4:") || absl::StartsWith(peer, "ipv6:")) {
    return absl::StrReplaceAll(peer.substr(5), {{"%5B", "["}, {"%5D", "]"}});
  }
  return peer;
}

std::function<void(const absl::Status&)> CountInto(Refusals* refusals, const char* method,
                                                   const grpc::CallbackServerContext* context) {
  return [refusals, method, context](const absl::Status& status) { refusals->Count(status, method, PeerOf(*context)); };
}

grpc::ServerUnaryReactor* CountedCall::Finish(const absl::Status& status) const {
  if (!status.ok()) {
    refusals_->Count(status, method_, peer());
  }
  reactor_->Finish(ToGrpcStatus(status));
  return reactor_;
}

grpc::ServerUnaryReactor* CountedCall::FinishWritten(const absl::Status& status) const {
  // A journal that has stopped means that this server is about to end: the client is to come back.
  return Finish(absl::IsCancelled(status)
                    ? Refusal(absl::StatusCode::kUnavailable, reasons::kStopping, "the replay server is stopping")
                    : WithReason(reasons::kDisk, status));
}

grpc::ServerUnaryReactor* CountedCall::FinishAfterCommit(const std::shared_ptr<Table>& table) const {
  table->AfterCommit([call = *this](const absl::Status& status) { call.FinishWritten(status); });
  return reactor_;
}

grpc::ServerUnaryReactor* CountedCall::AnswerLater(TaskQueue* queue, size_t bytes,
                                                   std::function<absl::Status()> answer) const {
  const absl::Status submitted = queue->SubmitBytes(
      static_cast<int64_t>(bytes), [call = *this, answer = std::move(answer)] { call.Finish(GuardedStatus(answer)); });
  return submitted.ok() ? reactor_ : Finish(TooBusy());
}

grpc::ServerUnaryReactor* CountedCall::ChangeLater(
    TaskQueue* queue, size_t bytes, std::function<absl::StatusOr<std::shared_ptr<Table>>()> change) const {
  const absl::Status submitted =
      queue->SubmitBytes(static_cast<int64_t>(bytes), [call = *this, change = std::move(change)] {
        std::shared_ptr<Table> table;
        const absl::Status status = GuardedStatus([&]() -> absl::Status {
          WAGGLE_ASSIGN_OR_RETURN(table, change());
          return absl::OkStatus();
        });
        if (status.ok()) {
          call.FinishAfterCommit(table);
        } else {
          call.Finish(status);
        }
      });
  return submitted.ok() ? reactor_ : Finish(TooBusy());
}

}  // namespace waggle
