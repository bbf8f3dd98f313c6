#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/replay/inspect_report.h"
#include "cli/replay/replay_servers.h"
#include "cli/replay/replay_target.h"

namespace waggle {

// Asks every server that has the table; a server that does not answer has an entry with its error. NOT_FOUND for an
// unknown table, with the nearest name, and for an item that no server has; INVALID_ARGUMENT for a page from several
// servers at once.
absl::StatusOr<Inspections> AskInspect(const TableQuestion& question, absl::Duration timeout, ReplayServers* servers);

}  // namespace waggle
