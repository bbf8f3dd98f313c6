#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/experiment/sections.h"

namespace waggle {

// The environment with this name, with values of its section ({"environment.options.x", "1"}) in place of the defaults.
// INVALID_ARGUMENT, one line for each mistake, for unknown names too.
absl::StatusOr<EnvironmentOptions> NamedEnvironment(const std::string& name,
                                                    std::vector<std::pair<std::string, std::string>> overrides);

}  // namespace waggle
