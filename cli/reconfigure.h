#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/replay_servers.h"

namespace waggle {

struct TableChange {
  std::string table;
  std::vector<std::pair<std::string, std::string>> changes;  // {"rate_limiter.max_difference", "900"}.
  bool dry_run = false;
  std::string requester;  // For the servers' logs.
};

// `waggle reconfigure`: changes a table on every server that has it, and says how: what was, what is, and how many
// items leave. Every server is asked whether it could before one does. NOT_FOUND for an unknown table, with the
// nearest; INVALID_ARGUMENT and FAILED_PRECONDITION for changes that cannot be made; ABORTED where somebody else
// changed it meanwhile. An error says which servers, if any, have changed it already.
absl::StatusOr<std::string> Reconfigure(const TableChange& change, absl::Duration timeout, ReplayServers* servers);

}  // namespace waggle
