#include "param_server/pool_service.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/build_info.h"
#include "common/base/status_macros.h"
#include "common/hub_client/pool_convert.h"
#include "common/rpc/unary_method.h"

namespace waggle {
namespace {

absl::StatusOr<Attendance> AttendanceOf(const v1::AttendRequest& request) {
  if (request.software_version() != kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this worker is of version ", absl::CHexEscape(request.software_version()),
        ", the parameter server of version ", kVersion, "; all processes of a hub must be of one version"));
  }
  Attendance attendance;
  attendance.worker_id = request.worker_id();
  WAGGLE_ASSIGN_OR_RETURN(attendance.kind, FromProto(request.kind()));
  attendance.address = request.address();
  attendance.process_id = request.process_id();
  attendance.host = request.host();
  attendance.storage_id = request.storage_id();
  if (request.has_wanted_index()) {
    attendance.wanted_index = request.wanted_index();
  }
  attendance.capacity = request.capacity();
  WAGGLE_ASSIGN_OR_RETURN(attendance.resources, FromProto(request.resources()));
  for (const v1::HeldOrder& held : request.held()) {
    WAGGLE_ASSIGN_OR_RETURN(WorkOrder order, FromProto(held.order()));
    attendance.held.push_back({std::move(order), held.ended(), held.failure()});
  }
  attendance.kept.assign(request.kept().begin(), request.kept().end());
  attendance.leaving = request.leaving();
  return attendance;
}

// Answers when the host does. gRPC calls OnCancel and OnDone only once the method has returned this.
class AttendReactor final : public grpc::ServerUnaryReactor {
 public:
  AttendReactor(ExperimentHost* host, const Attendance& attendance, grpc::ByteBuffer* response) : host_(host) {
    call_ = host_->Attend(attendance, [this, response](absl::StatusOr<PoolAnswer> answer) {
      if (answer.ok()) {
        v1::AttendResponse message;
        for (const WorkOrder& order : answer->orders) {
          *message.add_orders() = ToProto(order);
        }
        message.mutable_discarded()->Add(answer->discarded.begin(), answer->discarded.end());
        *response = EncodeMessage(message, ByteSlices());
      }
      Finish(ToGrpcStatus(answer.status()));
    });
  }

  void OnCancel() override { host_->BreakOff(call_); }
  void OnDone() override { delete this; }

 private:
  ExperimentHost* const host_;
  uint64_t call_ = 0;
};

}  // namespace

grpc::ServerUnaryReactor* PoolService::Attend(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
  v1::AttendRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  const absl::StatusOr<Attendance> attendance = AttendanceOf(decoded);
  if (!attendance.ok()) {
    return FinishUnary(context, attendance.status());
  }
  return new AttendReactor(host_, *attendance, response);
}

}  // namespace waggle
