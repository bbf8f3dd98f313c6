#pragma once

#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

// What one replay server said of itself and its tables.
struct ReplayServerState {
  std::string address;
  absl::Status status;  // Of asking it; where this is not OK there are no tables.
  v1::DescribeResponse tables;

  // What happened in a second, by table. Empty where it is not known.
  struct Rates {
    double items_inserted = 0;
    double items_sampled = 0;
  };
  std::map<std::string, Rates> rates;
};

// Asks replay servers how they fare. One thread at a time.
class DescribeClient {
 public:
  // Asks them (HOST:PORT) at the same time, and blocks for at most about `timeout`. One that does not answer has an
  // entry that says why; FAILED_PRECONDITION, with what it is, for one that is no replay server. Connections last until
  // a server is not asked. With an experiment its tables alone, under their plain names.
  std::vector<ReplayServerState> Describe(const std::vector<std::string>& addresses, absl::Duration timeout,
                                          const std::string& experiment_id = "");

 private:
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;  // By address.
};

}  // namespace waggle
