#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/experiments/experiment_client.h"
#include "waggle/v1/experiment.pb.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {

// A hub's pool, its newest experiments, and the newest runs, at one moment.
struct PoolSnapshot {
  v1::PoolResponse pool;
  v1::ListExperimentsResponse experiments;
  std::map<std::string, v1::OverviewResponse> runs;  // By id. Of at most kMostRuns.
};

// Asks a hub for its pool and experiments. One thread at a time.
class PoolSnapshotClient {
 public:
  static constexpr int64_t kMostRuns = 20;

  // HOST:PORT of the parameter server. Connects when first used.
  explicit PoolSnapshotClient(const std::string& param_server);

  // `filter` is the experiments'. `timeout` is for each call. Errors as ExperimentClient::Ask; a run that ends
  // meanwhile is left out.
  absl::StatusOr<PoolSnapshot> Fetch(int64_t most_experiments, const v1::ListExperimentsRequest& filter,
                                     absl::Duration timeout, const StopToken& stop = StopToken());

 private:
  const ExperimentClient experiments_;
  const std::unique_ptr<v1::WorkerService::Stub> workers_;
};

}  // namespace waggle
