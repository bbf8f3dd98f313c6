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

// The reports of the hub and of all processes of an experiment at one moment.
struct ClusterSnapshot {
  absl::Time requested_at;  // By SteadyNow(). Events before this time are included.
  v1::ExperimentInfo info;
  // With the state and the reason of `info`; these also describe a waiting experiment, whose overview has little else.
  v1::OverviewResponse overview;
  // Empty before the experiment has begun, and after it has ended.
  std::vector<ReplayServerState> replay_servers;
};

// Asks the hub and an experiment's replay servers for their state. One thread at a time.
class ClusterClient {
 public:
  // HOST:PORT of the parameter server. Connects when first used.
  ClusterClient(const std::string& param_server, std::string experiment_id);

  // Blocks for at most about `timeout`. UNAVAILABLE or DEADLINE_EXCEEDED, naming the address, if the hub does not
  // answer; NOT_FOUND if there is no such experiment. All replay servers are asked at the same time; one that does not
  // answer has an entry with its error.
  absl::StatusOr<ClusterSnapshot> Fetch(absl::Duration timeout);

 private:
  const std::string experiment_id_;
  const ExperimentClient experiments_;
  std::shared_ptr<grpc::Channel> hub_;
  DescribeClient replay_;
};

}  // namespace waggle
