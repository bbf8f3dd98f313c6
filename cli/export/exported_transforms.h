#pragma once

#include "absl/status/status.h"
#include "common/config/experiment/sections.h"
#include "common/config/spec/environment_spec.h"
#include "common/onnx/policy_source.h"

namespace waggle {

// Divides `environment.transforms` for an export: sets the source's environment, steps, shown and transforms_json.
// Transforms of observations that ObservationStep knows become steps if all behind them that change observations do.
// The others, such as frame stacks, are left to the caller of the policy. `own` is the environment's spec without
// transforms. INVALID_ARGUMENT if they do not fit it.
absl::Status DivideTransforms(const EnvironmentOptions& options, const EnvironmentSpec& own, PolicySource* source);

}  // namespace waggle
