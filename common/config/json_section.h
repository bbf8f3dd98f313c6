#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/config/config_visitor.h"

namespace waggle {

// Reads a section that ConfigVisitor::AnyValue has kept as JSON, once its keys are known. `visit` gets its fields.
// INVALID_ARGUMENT with one line for each mistake; a line begins with the key's path, and `path` is the section's:
// "environment.options".
absl::Status ReadJsonSection(const std::string& json, const std::string& path,
                             absl::FunctionRef<void(ConfigVisitor& visitor)> visit);

}  // namespace waggle
