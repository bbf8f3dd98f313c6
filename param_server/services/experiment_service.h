#pragma once

#include <grpcpp/grpcpp.h>

#include "common/base/threads/executor.h"
#include "param_server/experiments/experiment_host.h"
#include "waggle/v1/experiment.grpc.pb.h"

namespace waggle {

// All methods are raw, to limit the size of parsed messages.
using ExperimentServiceBase = v1::ExperimentService::WithRawCallbackMethod_Submit<
    v1::ExperimentService::WithRawCallbackMethod_List<v1::ExperimentService::WithRawCallbackMethod_Get<
        v1::ExperimentService::WithRawCallbackMethod_Stop<v1::ExperimentService::WithRawCallbackMethod_Resume<
            v1::ExperimentService::WithRawCallbackMethod_Set<v1::ExperimentService::WithRawCallbackMethod_Delete<
                v1::ExperimentService::WithRawCallbackMethod_Watch<v1::ExperimentService::WithRawCallbackMethod_Events<
                    v1::ExperimentService::WithRawCallbackMethod_Pool<
                        v1::ExperimentService::WithRawCallbackMethod_Resolve<
                            v1::ExperimentService::WithRawCallbackMethod_SetPriority<
                                v1::ExperimentService::WithRawCallbackMethod_Checkpoint<
                                    v1::ExperimentService::WithRawCallbackMethod_Cuts<
                                        v1::ExperimentService::Service>>>>>>>>>>>>>>;

// waggle.v1.ExperimentService over an ExperimentHost; see experiment.proto.
class ExperimentService final : public ExperimentServiceBase {
 public:
  // The host outlives the service.
  explicit ExperimentService(ExperimentHost* host);

  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Stop(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Resume(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Checkpoint(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Cuts(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SetPriority(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Resolve(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Set(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* Events(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Pool(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;

 private:
  ExperimentHost* const host_;
  Executor waiters_;  // For calls that wait for the disk.
  Executor closers_;  // For calls that wait for a run to close, which takes long.
};

}  // namespace waggle
