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

// One replay server's report on itself and its tables.
struct ReplayServerState {
  std::string address;
  absl::Status status;  // The status of the call; there are no tables if it is not OK.
  v1::DescribeResponse tables;

  // Events per second, by table. Empty if not known.
  struct Rates {
    double items_inserted = 0;
    double items_sampled = 0;
  };
  std::map<std::string, Rates> rates;
};

// Asks replay servers for their state. One thread at a time.
class DescribeClient {
 public:
  // Asks the servers (HOST:PORT) at the same time, and blocks for at most about `timeout`. A server that does not
  // answer has an entry with its error; FAILED_PRECONDITION, naming the kind of server, if it is no replay server. A
  // connection lasts until a call leaves its server out. With an experiment, only its tables are returned, under their
  // plain names.
  std::vector<ReplayServerState> Describe(const std::vector<std::string>& addresses, absl::Duration timeout,
                                          const std::string& experiment_id = "");

 private:
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;  // By address.
};

}  // namespace waggle
