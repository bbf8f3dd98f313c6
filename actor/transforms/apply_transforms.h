#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/vector_environment.h"
#include "common/base/random.h"
#include "common/experiment/sections.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// What `environment.transforms` makes of an environment, the first of them first. Errors are INVALID_ARGUMENT,
// "environment.transforms[2].resize: got …; wanted …", one a line.

// Checks names and settings by themselves: the environment need not be known.
absl::Status CheckTransforms(const EnvironmentOptions& options);

// The same, and whether some start episodes in lanes by themselves: then lanes must not step together.
absl::StatusOr<bool> TransformsStartLanes(const EnvironmentOptions& options);

// The spec of an environment with its transforms; `spec` is the environment's own. What is read without opening an
// environment must go through this.
absl::StatusOr<EnvironmentSpec> TransformSpec(EnvironmentSpec spec, const EnvironmentOptions& options);

// Puts the transforms around an environment; random numbers follow from `rng`. `raw_rewards`: those that change
// rewards are left out.
absl::StatusOr<std::unique_ptr<VectorEnvironment>> ApplyTransforms(std::unique_ptr<VectorEnvironment> environment,
                                                                   const EnvironmentOptions& options, bool raw_rewards,
                                                                   Rng rng);

}  // namespace waggle
