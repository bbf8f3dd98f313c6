#pragma once

#include <grpcpp/grpcpp.h>

#include <utility>

#include "param_server/services/run_services.h"
#include "waggle/v1/model.grpc.pb.h"

namespace waggle {

// waggle.v1.ModelService over the model stores of all running experiments; see model.proto. Weights are copied once, in
// an upload. Counts models_pushed, pushes_refused, models_pulled and bytes_pulled.
class ModelService final
    : public v1::ModelService::WithRawCallbackMethod_Push<v1::ModelService::WithRawCallbackMethod_Pull<
          v1::ModelService::WithRawCallbackMethod_Watch<v1::ModelService::Service>>> {
 public:
  explicit ModelService(FindRun find) : find_(std::move(find)) {}

  grpc::ServerReadReactor<grpc::ByteBuffer>* Push(grpc::CallbackServerContext* context,
                                                  grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Pull(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request) override;

 private:
  const FindRun find_;
};

}  // namespace waggle
