#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "actor/environments/environment.h"

namespace waggle {

// Loads environment `name` of a shared library (actor/environments/plugin/waggle_environment.h), as a registry's entry.
// `options` is a JSON object. The library stays loaded as long as the definition or an environment of it lives.
// NOT_FOUND if the library cannot be loaded, FAILED_PRECONDITION if it is made for another version, INVALID_ARGUMENT if
// it has no such environment, or Waggle does not support the spec. A crash of the library ends this process.
absl::StatusOr<EnvironmentDefinition> LoadEnvironmentPlugin(const std::string& library, const std::string& name,
                                                            const std::string& options);

}  // namespace waggle
