#pragma once

#include "common/config/experiment/sections.h"
#include "common/config/spec/environment_spec.h"

namespace waggle::testing {

// The spec of the environment of a file in configs/, without opening it: environments of Python need not be installed.
EnvironmentSpec ShippedSpec(const EnvironmentOptions& options);

}  // namespace waggle::testing
