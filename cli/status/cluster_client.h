#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/status/describe_client.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// What all processes of a run said at one moment.
struct ClusterSnapshot {
  absl::Time requested_at;  // By SteadyNow(). What happened before this is in it.
  v1::OverviewResponse overview;

  std::vector<ReplayServerState> replay_servers;
};

// Asks the hub and the replay servers it knows how they fare. One thread at a time.
class ClusterClient {
 public:
  // HOST:PORT of the parameter server. Connects when first used.
  explicit ClusterClient(const std::string& param_server);

  // Blocks for at most about `timeout`. UNAVAILABLE or DEADLINE_EXCEEDED, naming the address, if the hub does not
  // answer; a replay server that does not has an entry that says why. The replay servers are asked at the same time.
  absl::StatusOr<ClusterSnapshot> Fetch(absl::Duration timeout);

 private:
  const std::string param_server_;
  std::shared_ptr<grpc::Channel> hub_;
  DescribeClient replay_;
};

}  // namespace waggle
