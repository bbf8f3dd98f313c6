#pragma once

#include <string>

#include "actor/environments/environment.h"

namespace waggle::testing {

// Asserts the contract of an environment. Its spec is valid and equals its definition's. Observations are finite, of
// the right size and within their leaf's space. Masks allow some action. Rewards are finite. The same seed and actions
// give the same results, and another seed gives others if the definition follows seeds. Invalid and masked actions, and
// steps past an episode's end, are refused. An episode is truncated after max_episode_steps and at no other time. Call
// it in a test case: it drives the environment with random legal actions for some thousands of steps, and for up to
// 2,000 more episodes if they terminate early, to find a long one. Boxes of actions must be of float32.
void CheckEnvironment(const std::string& name, const EnvironmentDefinition& definition,
                      const EnvironmentOptions& options);

// The same for a built-in environment with these `environment.options`, as YAML in braces; and asserts that its steps
// and resets allocate no memory. The test program needs counted_memory.cc.
void CheckBuiltin(const std::string& name, const std::string& settings);

}  // namespace waggle::testing
