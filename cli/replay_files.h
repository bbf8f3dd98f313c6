#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "common/base/stop_token.h"

namespace waggle {

// Do what `waggle replay export` and `import` say. Return what there is to say about it, in a line.
//
// An export is of one server: INVALID_ARGUMENT where the run has several and none is named. An import fills a buffer
// that is spread over several as any writer does.
absl::StatusOr<std::string> ExportToFile(const ExportFlags& flags, const StopToken& stop);
absl::StatusOr<std::string> ImportFromFile(const ImportFlags& flags, const StopToken& stop);

}  // namespace waggle
