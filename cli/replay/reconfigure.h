#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/replay/replay_servers.h"

namespace waggle {

struct TableChange {
  std::string table;
  std::vector<std::pair<std::string, std::string>> changes;  // {"rate_limiter.max_difference", "900"}.
  bool dry_run = false;
  std::string requester;  // For the servers' logs.
};

struct ReconfigureOutcome {
  std::string text;  // Server by server, where one was asked to change: what was, what is, and how many items leave.
  absl::Status status;
};

// `waggle reconfigure`: changes a table on every server that has it. Every server is asked whether it could before one
// does, and nothing is changed where one of the run is missing. NOT_FOUND for an unknown table, with the nearest;
// INVALID_ARGUMENT and FAILED_PRECONDITION for changes that cannot be made; ABORTED where somebody else changed it
// meanwhile; UNAVAILABLE where a server is missing or does not answer; a dry run tells of the others all the same.
// Servers behind one that has failed are not asked; where some have changed it by then, the error and the text say
// which have, which have not, and of which it is not known.
ReconfigureOutcome Reconfigure(const TableChange& change, absl::Duration timeout, ReplayServers* servers);

}  // namespace waggle
