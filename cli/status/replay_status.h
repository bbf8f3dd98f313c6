#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/status/describe_client.h"

namespace waggle {

// `waggle status --replay-server`: replay servers that serve alone, without a hub that asks them for figures.

// Asks the servers twice, `between` apart, to get rates; an address given twice is asked once. A server that does not
// answer has an entry with its error; if none answers, that error is returned, with its address. Blocks for at most
// about `between` plus twice `timeout`. With an experiment, only its tables are returned.
absl::StatusOr<std::vector<ReplayServerState>> AskReplayStatus(const std::vector<std::string>& addresses,
                                                               const std::string& experiment_id, absl::Duration timeout,
                                                               absl::Duration between);

// Events per second at each table of a server, from two answers. Empty if the server did not answer or restarted
// between them; new tables are left out. A pure function.
std::map<std::string, ReplayServerState::Rates> RatesBetween(const ReplayServerState& before,
                                                             const ReplayServerState& after);

// As text for people and as JSON for programs. Pure functions.
std::string ReplayStatusText(const std::vector<ReplayServerState>& servers);
std::string ReplayStatusJson(const std::vector<ReplayServerState>& servers);

}  // namespace waggle
