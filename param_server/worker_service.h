#pragma once

#include <grpcpp/grpcpp.h>

#include "param_server/workers/hub.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {

// waggle.v1.WorkerService over a Hub; see worker.proto. Translates, and decides nothing but that a worker of another
// software version is refused.
class WorkerService final : public v1::WorkerService::CallbackService {
 public:
  // The hub outlives the service. Workers are asked for a heartbeat every `heartbeat_interval`.
  WorkerService(Hub* hub, absl::Duration heartbeat_interval) : hub_(hub), heartbeat_interval_(heartbeat_interval) {}

  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context, const v1::JoinRequest* request,
                                 v1::JoinResponse* response) override;
  grpc::ServerUnaryReactor* Heartbeat(grpc::CallbackServerContext* context, const v1::HeartbeatRequest* request,
                                      v1::HeartbeatResponse* response) override;
  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext* context, const v1::LeaveRequest* request,
                                  v1::LeaveResponse* response) override;
  grpc::ServerUnaryReactor* Overview(grpc::CallbackServerContext* context, const v1::OverviewRequest* request,
                                     v1::OverviewResponse* response) override;

 private:
  Hub* const hub_;
  const absl::Duration heartbeat_interval_;
};

}  // namespace waggle
