#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace waggle {

// Logs a change with its caller and its result: "audit: ann: stop pole-x7k2q: OK". Call it in the thread that
// answers the call, which knows its caller.
void LogAudit(absl::string_view what, absl::string_view which, const absl::Status& result);

}  // namespace waggle
