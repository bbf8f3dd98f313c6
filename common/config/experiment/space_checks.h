#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// INVALID_ARGUMENT, one problem a line, unless the algorithm of this name can learn in the (valid) environment. Every
// algorithm takes any observations, masks among them, actions of its definition's kinds
// (AlgorithmDefinition::action_kinds, takes_choice_beside_reals), real ones of float32, one agent and its reward, a
// scalar or a vector.
absl::Status CheckSpaces(const std::string& algorithm, const AlgorithmDefinition& definition,
                         const EnvironmentSpec& environment);

}  // namespace waggle
