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
  // For each server that was asked to change: the old values, the new values, and how many items leave.
  std::string text;
  absl::Status status;
};

// `waggle reconfigure`: changes a table on every server that has it. All servers first check the change; nothing is
// changed if one refuses it or a server of the run is missing. NOT_FOUND for an unknown table, with the nearest name;
// INVALID_ARGUMENT and FAILED_PRECONDITION for changes that are not possible; ABORTED if another user changed the table
// meanwhile; UNAVAILABLE if a server is missing or does not answer: a dry run still reports on the others. After a
// server fails, later servers are not asked; the error and the text then say which servers have changed, which have
// not, and which may have.
ReconfigureOutcome Reconfigure(const TableChange& change, absl::Duration timeout, ReplayServers* servers);

}  // namespace waggle
