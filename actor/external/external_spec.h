#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// What an environment process says of its environment.
struct ExternalSpec {
  EnvironmentSpec environment;
  bool whole_groups = false;       // All lanes of a group run together, or none.
  std::vector<std::string> notes;  // What is changed on the way, in words.
};

// Reads the message SPEC of docs/environment_memory.md. INTERNAL for what is no such message; INVALID_ARGUMENT for a
// spec that Waggle cannot take.
absl::StatusOr<ExternalSpec> ParseExternalSpec(const std::string& json, const std::string& name);

}  // namespace waggle
