#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/experiments/experiment_client.h"
#include "cli/status/describe_client.h"
#include "waggle/v1/experiment.pb.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// What the hub and all processes of an experiment said at one moment.
struct ClusterSnapshot {
  absl::Time requested_at;  // By SteadyNow(). What happened before this is in it.
  v1::ExperimentInfo info;
  // With the state and the reason of `info`, which also say how one stands that waits; before it begins without much
  // else.
  v1::OverviewResponse overview;
  // Empty before the experiment has begun, and after it has ended.
  std::vector<ReplayServerState> replay_servers;
};

// Asks the hub, and the replay servers of an experiment, how it fares. One thread at a time.
class ClusterClient {
 public:
  // HOST:PORT of the parameter server. Connects when first used.
  ClusterClient(const std::string& param_server, std::string experiment_id);

  // Blocks for at most about `timeout`. UNAVAILABLE or DEADLINE_EXCEEDED, naming the address, if the hub does not
  // answer; NOT_FOUND if there is no such experiment; a replay server that does not answer has an entry that says why.
  // The replay servers are asked at the same time.
  absl::StatusOr<ClusterSnapshot> Fetch(absl::Duration timeout);

 private:
  const std::string experiment_id_;
  const ExperimentClient experiments_;
  std::shared_ptr<grpc::Channel> hub_;
  DescribeClient replay_;
};

}  // namespace waggle
