#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// Run `waggle replay export` and `import`. Each returns a line that sums up the result.
//
// An export reads one server: INVALID_ARGUMENT if the run has several and none is named. An import fills a buffer that
// is spread over several servers as any writer does: UNAVAILABLE unless all are there, in the order of their indices.
// It reports its progress on `out` every few seconds. It ends with DEADLINE_EXCEEDED, and the reason why the table
// waits, if nothing was acknowledged for `flags.idle_seconds`. Both end with CANCELLED after a stop.
absl::StatusOr<std::string> ExportToFile(const ExportFlags& flags, const StopToken& stop);
absl::StatusOr<std::string> ImportFromFile(const ImportFlags& flags, const StopToken& stop, std::ostream* out);

// Runs `waggle import`: joins data sets and replay files of recorded episodes. Returns a line that sums it up.
absl::StatusOr<std::string> ImportDatasets(const DatasetFlags& flags, const StopToken& stop);

// The exit statuses that --help promises. A damaged file is the user's fault.
int ExportExitStatus(const absl::Status& status);
int ImportExitStatus(const absl::Status& status);

}  // namespace waggle
