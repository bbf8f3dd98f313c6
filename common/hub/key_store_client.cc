#include "common/hub/key_store_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "waggle/v1/store.grpc.pb.h"

namespace waggle {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(5);
constexpr absl::Duration kWaitTimeout = absl::Hours(24);

using Stub = v1::StoreService::Stub;

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
    return CallUnary(stub_.get(), &Stub::Set, request, kCallTimeout, stop).status();
  }

  absl::StatusOr<std::vector<std::string>> Get(const std::vector<std::string>& keys, bool wait,
                                               const StopToken& stop) override {
    v1::GetKeysRequest request;
    request.set_experiment_id(experiment_id_);
    request.set_epoch(epoch_);
    request.mutable_keys()->Add(keys.begin(), keys.end());
    request.set_wait(wait);
    WAGGLE_ASSIGN_OR_RETURN(const v1::GetKeysResponse response,
                            CallUnary(stub_.get(), &Stub::Get, request, wait ? kWaitTimeout : kCallTimeout, stop));
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
    WAGGLE_ASSIGN_OR_RETURN(const v1::AddToKeyResponse response,
                            CallUnary(stub_.get(), &Stub::Add, request, kCallTimeout, stop));
    return response.value();
  }

  absl::StatusOr<bool> Delete(const std::string& key, const StopToken& stop) override {
    v1::DeleteKeyRequest request;
    request.set_experiment_id(experiment_id_);
    request.set_epoch(epoch_);
    request.set_key(key);
    WAGGLE_ASSIGN_OR_RETURN(const v1::DeleteKeyResponse response,
                            CallUnary(stub_.get(), &Stub::Delete, request, kCallTimeout, stop));
    return response.existed();
  }

 private:
  const std::unique_ptr<Stub> stub_;
  const std::string experiment_id_;
  const uint64_t epoch_;
};

}  // namespace

std::unique_ptr<KeyStore> NewGrpcKeyStore(const RunAddress& run, uint64_t epoch) {
  return std::make_unique<GrpcKeyStore>(run, epoch);
}

}  // namespace waggle
