#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>

#include "common/base/threads/executor.h"
#include "param_server/services/run_services.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {

// All methods are raw, to limit the size of parsed messages.
using WorkerServiceBase = v1::WorkerService::WithRawCallbackMethod_Join<
    v1::WorkerService::WithRawCallbackMethod_Heartbeat<v1::WorkerService::WithRawCallbackMethod_Watch<
        v1::WorkerService::WithRawCallbackMethod_TakeSteps<v1::WorkerService::WithRawCallbackMethod_Leave<
            v1::WorkerService::WithRawCallbackMethod_Overview<v1::WorkerService::Service>>>>>>;

// waggle.v1.WorkerService over the hubs of all running experiments; see worker.proto. The hubs decide all.
class WorkerService final : public WorkerServiceBase {
 public:
  // See ExperimentHost::PastOverview. May wait for the disk.
  using PastOverview = std::function<absl::StatusOr<v1::OverviewResponse>(const std::string& experiment_id)>;

  // Workers must send a heartbeat every `heartbeat_interval`. `past` may be null.
  WorkerService(FindRun find, absl::Duration heartbeat_interval, PastOverview past = nullptr);

  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Heartbeat(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* TakeSteps(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Overview(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;

 private:
  absl::Status Join(Hub* hub, const WorkerArrival& arrival, v1::JoinResponse* response);
  absl::Status Heartbeat(const v1::HeartbeatRequest& request, v1::HeartbeatResponse* response);

  const FindRun find_;
  const PastOverview past_;
  const absl::Duration heartbeat_interval_;
  Executor joins_;       // For joins that wait for the disk.
  Executor past_calls_;  // For `past_`.
};

}  // namespace waggle
