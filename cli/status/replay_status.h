#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/status/describe_client.h"

namespace waggle {

// `waggle status --replay-server`: replay servers that serve alone, whom nobody asks for their figures.

// Asks them twice, `between` apart, so that there are rates; those named again only once. One that does not answer has
// an entry that says why; an error, with its address, where none does. Blocks for at most about `between` and twice
// `timeout`. With an experiment its tables alone.
absl::StatusOr<std::vector<ReplayServerState>> AskReplayStatus(const std::vector<std::string>& addresses,
                                                               const std::string& experiment_id, absl::Duration timeout,
                                                               absl::Duration between);

// What happened in a second at each table of a server, of two answers of it. Without those of a server that did not
// answer, or that was started between them, and without new tables. A pure function.
std::map<std::string, ReplayServerState::Rates> RatesBetween(const ReplayServerState& before,
                                                             const ReplayServerState& after);

// For people and for programs. Pure functions.
std::string ReplayStatusText(const std::vector<ReplayServerState>& servers);
std::string ReplayStatusJson(const std::vector<ReplayServerState>& servers);

}  // namespace waggle
