#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/metrics/metrics.h"
#include "param_server/models/model_store.h"
#include "waggle/v1/model.grpc.pb.h"

namespace waggle {

// A version cut into messages, once: all who pull it are sent the same bytes, of which there is one copy.
class EncodedModels {
 public:
  using Pieces = std::vector<grpc::ByteBuffer>;

  // The messages of a stored version. Keeps those of the newest version of each model that was asked for.
  std::shared_ptr<const Pieces> Get(const std::shared_ptr<const StoredModel>& model) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::shared_ptr<const StoredModel> model;
    std::shared_ptr<const Pieces> pieces;
  };
  Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

// waggle.v1.ModelService over a ModelStore; see model.proto. All bulk bytes pass uncopied but for the one copy that an
// upload makes. Counts models_pushed, pushes_refused, models_pulled and bytes_pulled.
class ModelService final
    : public v1::ModelService::WithRawCallbackMethod_Push<v1::ModelService::WithRawCallbackMethod_Pull<
          v1::ModelService::WithRawCallbackMethod_Watch<v1::ModelService::Service>>> {
 public:
  // Both outlive the service. `last_epoch`: the largest one that a learner was given, so that a push of a later one is
  // refused with FAILED_PRECONDITION; asked in a gRPC reaction. Null: any epoch will do.
  ModelService(ModelStore* models, Metrics* metrics, std::function<uint64_t()> last_epoch = nullptr)
      : models_(models), metrics_(metrics), last_epoch_(std::move(last_epoch)) {}

  grpc::ServerReadReactor<grpc::ByteBuffer>* Push(grpc::CallbackServerContext* context,
                                                  grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Pull(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request) override;

 private:
  ModelStore* const models_;
  Metrics* const metrics_;
  const std::function<uint64_t()> last_epoch_;
  EncodedModels encoded_;
};

}  // namespace waggle
