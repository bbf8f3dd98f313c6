#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// An environment process's description of its environment.
struct ExternalSpec {
  EnvironmentSpec environment;
  bool whole_groups = false;                           // True if the lanes of a group only run together.
  std::vector<std::string> notes;                      // The conversions, in words.
  std::map<std::string, std::vector<int64_t>> starts;  // VectorEnvironment's choice_starts.
};

// Reads the message SPEC of docs/environment_memory.md. INTERNAL if it is malformed; INVALID_ARGUMENT if Waggle does
// not support the spec.
absl::StatusOr<ExternalSpec> ParseExternalSpec(const std::string& json, const std::string& name);

}  // namespace waggle
