#include "cli/status/pool_snapshot.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"

namespace waggle {

PoolSnapshotClient::PoolSnapshotClient(const std::string& param_server)
    : experiments_(param_server), workers_(v1::WorkerService::NewStub(NewChannel(param_server, "status"))) {}

absl::StatusOr<PoolSnapshot> PoolSnapshotClient::Fetch(int64_t most_experiments,
                                                       const v1::ListExperimentsRequest& filter, absl::Duration timeout,
                                                       const StopToken& stop) {
  PoolSnapshot snapshot;
  WAGGLE_ASSIGN_OR_RETURN(snapshot.pool,
                          experiments_.Ask(&v1::ExperimentService::Stub::Pool, v1::PoolRequest(), timeout, stop));
  WAGGLE_ASSIGN_OR_RETURN(snapshot.experiments, experiments_.List(most_experiments, filter, timeout));
  v1::ListExperimentsRequest running;
  running.add_states(v1::RUN_STATE_RUNNING);
  WAGGLE_ASSIGN_OR_RETURN(const v1::ListExperimentsResponse listed, experiments_.List(kMostRuns, running, timeout));
  for (const v1::ExperimentInfo& info : listed.experiments()) {
    v1::OverviewRequest request;
    request.set_experiment_id(info.id());
    if (auto run = CallUnary(workers_.get(), &v1::WorkerService::Stub::Overview, request, timeout, stop); run.ok()) {
      snapshot.runs[info.id()] = *std::move(run);
    } else if (!absl::IsNotFound(run.status()) && !absl::IsUnavailable(run.status())) {
      return run.status();
    }
  }
  return snapshot;
}

}  // namespace waggle
