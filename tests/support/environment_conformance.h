#pragma once

#include <string>

#include "actor/environments/environment.h"

namespace waggle::testing {

// Asserts what every environment promises: a valid spec that equals its definition's; observations that are finite, of
// the right size and within their leaf's space, and masks that leave something legal; finite rewards; the same
// everything from the same seed and actions, and something else from another seed if its definition follows seeds;
// invalid actions, those that a mask forbids among them, and steps past an episode's end refused; an episode truncated
// after max_episode_steps and at no other time. To be called in a test case; drives the environment with random legal
// actions for some thousands of steps, and where episodes terminate early for up to 2,000 episodes more, to find one
// that lasts. Actions that are boxes must be of float32.
void CheckEnvironment(const std::string& name, const EnvironmentDefinition& definition,
                      const EnvironmentOptions& options);

// The same of a built-in environment with these `environment.options`, as YAML in braces; and that its steps and resets
// take no memory. The test program needs counted_memory.cc.
void CheckBuiltin(const std::string& name, const std::string& settings);

}  // namespace waggle::testing
