#include "common/hub_client/key_store_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_call.h"
#include "waggle/v1/store.grpc.pb.h"

namespace waggle {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(5);
constexpr absl::Duration kWaitTimeout = absl::Hours(24);

class GrpcKeyStore final : public KeyStore {
 public:
  GrpcKeyStore(const RunAddress& run, uint64_t epoch)
      : stub_(v1::StoreService::NewStub(NewChannel(run.hub, "control"))),
        experiment_id_(run.experiment_id),
        epoch_(epoch) {}

  absl::Status Set(const std::string& key, const std::string& value, const StopToken& stop) override {
    v1::SetKeyRequest request;
    request.set_experiment_id(experiment_id_);
    request.set_epoch(epoch_);
    request.set_key(key);
    request.set_value(value);
    v1::SetKeyResponse response;
    return CallUnary(kCallTimeout, stop,
                     [&](grpc::ClientContext* context) { return stub_->Set(context, request, &response); });
  }

  absl::StatusOr<std::vector<std::string>> Get(const std::vector<std::string>& keys, bool wait,
                                               const StopToken& stop) override {
    v1::GetKeysRequest request;
    request.set_experiment_id(experiment_id_);
    request.set_epoch(epoch_);
    request.mutable_keys()->Add(keys.begin(), keys.end());
    request.set_wait(wait);
    v1::GetKeysResponse response;
    const absl::Status status = CallUnary(wait ? kWaitTimeout : kCallTimeout, stop, [&](grpc::ClientContext* context) {
      return stub_->Get(context, request, &response);
    });
    if (!status.ok()) {
      return status;
    }
    if (response.values_size() != static_cast<int>(keys.size())) {
      return absl::InternalError(
          absl::StrCat("the parameter server answers ", keys.size(), " keys with ", response.values_size(), " values"));
    }
    return std::vector<std::string>(response.values().begin(), response.values().end());
  }

  absl::StatusOr<int64_t> Add(const std::string& key, int64_t amount, const StopToken& stop) override {
    v1::AddToKeyRequest request;
    request.set_experiment_id(experiment_id_);
    request.set_epoch(epoch_);
    request.set_key(key);
    request.set_amount(amount);
    v1::AddToKeyResponse response;
    const absl::Status status = CallUnary(
        kCallTimeout, stop, [&](grpc::ClientContext* context) { return stub_->Add(context, request, &response); });
    return status.ok() ? absl::StatusOr<int64_t>(response.value()) : status;
  }

  absl::StatusOr<bool> Delete(const std::string& key, const StopToken& stop) override {
    v1::DeleteKeyRequest request;
    request.set_experiment_id(experiment_id_);
    request.set_epoch(epoch_);
    request.set_key(key);
    v1::DeleteKeyResponse response;
    const absl::Status status = CallUnary(
        kCallTimeout, stop, [&](grpc::ClientContext* context) { return stub_->Delete(context, request, &response); });
    return status.ok() ? absl::StatusOr<bool>(response.existed()) : status;
  }

 private:
  const std::unique_ptr<v1::StoreService::Stub> stub_;
  const std::string experiment_id_;
  const uint64_t epoch_;
};

}  // namespace

std::unique_ptr<KeyStore> NewGrpcKeyStore(const RunAddress& run, uint64_t epoch) {
  return std::make_unique<GrpcKeyStore>(run, epoch);
}

}  // namespace waggle
