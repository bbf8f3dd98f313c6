#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "common/base/stop_token.h"

namespace waggle {

// Do what `waggle replay export` and `import` say. Return what there is to say about it, in a line.
//
// An export is of one server: INVALID_ARGUMENT where the run has several and none is named. An import fills a buffer
// that is spread over several as any writer does: UNAVAILABLE unless all of them are there, in the order of their
// indices. It says every few seconds on `out` how it gets on, and ends with DEADLINE_EXCEEDED, and what the table waits
// for, once nothing was acknowledged for `flags.idle_seconds`. Both end with CANCELLED after a stop.
absl::StatusOr<std::string> ExportToFile(const ExportFlags& flags, const StopToken& stop);
absl::StatusOr<std::string> ImportFromFile(const ImportFlags& flags, const StopToken& stop, std::ostream* out);

// The exit statuses that their --help promises. A damaged file is the fault of whoever imports it.
int ExportExitStatus(const absl::Status& status);
int ImportExitStatus(const absl::Status& status);

}  // namespace waggle
