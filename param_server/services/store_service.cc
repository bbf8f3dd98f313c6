#include "param_server/services/store_service.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/net/unary_method.h"

namespace waggle {
namespace {

// Finishes a call once its keys are set. gRPC calls OnCancel and OnDone only after the method has returned this.
class GetReactor final : public grpc::ServerUnaryReactor {
 public:
  GetReactor(std::shared_ptr<RunServices> run, const v1::GetKeysRequest& request, grpc::ByteBuffer* response)
      : run_(std::move(run)) {
    const auto answer = [this, response](absl::StatusOr<std::vector<std::string>> values) {
      if (values.ok()) {
        v1::GetKeysResponse message;
        message.mutable_values()->Add(values->begin(), values->end());
        *response = EncodeMessage(message, ByteSlices());
      }
      Finish(ToGrpcStatus(values.status()));
    };
    number_ =
        run_->groups->Get(request.epoch(), {request.keys().begin(), request.keys().end()}, request.wait(), answer);
  }

  void OnCancel() override {
    if (number_.has_value()) {
      run_->groups->Forget(*number_);
    }
  }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<RunServices> run_;
  std::optional<int64_t> number_;
};

}  // namespace

grpc::ServerUnaryReactor* StoreService::Set(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  return AnswerUnary<v1::SetKeyRequest, v1::SetKeyResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::SetKeyRequest& decoded, v1::SetKeyResponse*) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(const auto run, find_(decoded.experiment_id()));
        return run->groups->Set(decoded.epoch(), decoded.key(), decoded.value());
      });
}

grpc::ServerUnaryReactor* StoreService::Get(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  v1::GetKeysRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  auto run = find_(decoded.experiment_id());
  if (!run.ok()) {
    return FinishUnary(context, run.status());
  }
  return new GetReactor(*std::move(run), decoded, response);
}

grpc::ServerUnaryReactor* StoreService::Add(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  return AnswerUnary<v1::AddToKeyRequest, v1::AddToKeyResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::AddToKeyRequest& decoded, v1::AddToKeyResponse* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(const auto run, find_(decoded.experiment_id()));
        WAGGLE_ASSIGN_OR_RETURN(const int64_t value,
                                run->groups->Add(decoded.epoch(), decoded.key(), decoded.amount()));
        answer->set_value(value);
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* StoreService::Delete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  return AnswerUnary<v1::DeleteKeyRequest, v1::DeleteKeyResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::DeleteKeyRequest& decoded, v1::DeleteKeyResponse* answer) -> absl::Status {
        WAGGLE_ASSIGN_OR_RETURN(const auto run, find_(decoded.experiment_id()));
        WAGGLE_ASSIGN_OR_RETURN(const bool existed, run->groups->Delete(decoded.epoch(), decoded.key()));
        answer->set_existed(existed);
        return absl::OkStatus();
      });
}

}  // namespace waggle
