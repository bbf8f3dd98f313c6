#pragma once

#include <grpcpp/grpcpp.h>

#include "param_server/experiments/experiment_host.h"
#include "waggle/v1/pool.grpc.pb.h"

namespace waggle {

// waggle.v1.PoolService over an ExperimentHost; see pool.proto. Refuses workers of another software version.
class PoolService final : public v1::PoolService::WithRawCallbackMethod_Attend<v1::PoolService::Service> {
 public:
  // The host outlives the service.
  explicit PoolService(ExperimentHost* host) : host_(host) {}

  grpc::ServerUnaryReactor* Attend(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;

 private:
  ExperimentHost* const host_;
};

}  // namespace waggle
