#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/vector_environment.h"
#include "common/base/random.h"
#include "common/config/experiment/sections.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// Applies `environment.transforms` to an environment, in their order. Errors are INVALID_ARGUMENT,
// "environment.transforms[2].resize: got …; wanted …", one a line.

// Checks names and settings, without the environment.
absl::Status CheckTransforms(const EnvironmentOptions& options);

// The same. True if a transform starts episodes in single lanes, so that lanes must not step together.
absl::StatusOr<bool> TransformsStartLanes(const EnvironmentOptions& options);

// The spec of an environment with its transforms; `spec` is the environment's own. A spec that was read without opening
// the environment must be passed through this.
absl::StatusOr<EnvironmentSpec> TransformSpec(EnvironmentSpec spec, const EnvironmentOptions& options);

// Puts the transforms around an environment; random numbers follow from `rng`. `raw_rewards`: leaves out transforms
// that change rewards.
absl::StatusOr<std::unique_ptr<VectorEnvironment>> ApplyTransforms(std::unique_ptr<VectorEnvironment> environment,
                                                                   const EnvironmentOptions& options, bool raw_rewards,
                                                                   Rng rng);

}  // namespace waggle
