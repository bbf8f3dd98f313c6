#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/experiment/algorithm_definition.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// INVALID_ARGUMENT, one problem a line, unless the algorithm of this name can learn in the (valid) environment. Beside
// the kinds of action that its definition says (AlgorithmDefinition::action_kinds), an algorithm takes any
// observations, masks among them, real actions of float32, one agent and a scalar reward.
absl::Status CheckSpaces(const std::string& algorithm, const AlgorithmDefinition& definition,
                         const EnvironmentSpec& environment);

}  // namespace waggle
