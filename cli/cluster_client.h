#pragma once

#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waggle/v1/replay.pb.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// What all processes of a run said at one moment.
struct ClusterSnapshot {
  absl::Time requested_at;  // By SteadyNow(). What happened before this is in it.
  v1::OverviewResponse overview;

  struct ReplayServer {
    std::string address;
    absl::Status status;  // Of asking it; where this is not OK there are no tables.
    v1::DescribeResponse tables;
  };
  std::vector<ReplayServer> replay_servers;
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
  std::map<std::string, std::shared_ptr<grpc::Channel>> replay_;  // By address.
};

}  // namespace waggle
