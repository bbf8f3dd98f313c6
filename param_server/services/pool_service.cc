#include "param_server/services/pool_service.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/build_info.h"
#include "common/net/unary_method.h"

namespace waggle {
namespace {

// Finishes the call when the host replies. gRPC calls OnCancel and OnDone only after the method has returned this.
class AttendReactor final : public grpc::ServerUnaryReactor {
 public:
  AttendReactor(ExperimentHost* host, const v1::AttendRequest& request, grpc::ByteBuffer* response) : host_(host) {
    call_ = host_->Attend(request, [this, response](const absl::StatusOr<v1::AttendResponse>& answer) {
      if (answer.ok()) {
        *response = EncodeMessage(*answer, ByteSlices());
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
  if (decoded.software_version() != kVersion) {
    return FinishUnary(context, absl::FailedPreconditionError(absl::StrCat(
                                    "this worker is of version ", absl::CHexEscape(decoded.software_version()),
                                    ", the parameter server of version ", kVersion,
                                    "; all processes of a hub must have the same version")));
  }
  return new AttendReactor(host_, decoded, response);
}

}  // namespace waggle
