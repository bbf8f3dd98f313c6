#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/config/experiment/experiment.h"
#include "common/config/spec/environment_spec.h"
#include "common/rl/checkpoint/saved_weights.h"

namespace waggle {

// What a policy is exported from.
struct PolicySource {
  SavedWeights weights;  // Not random.
  Experiment experiment;
  // The one that evaluations act in, with its transforms.
  EnvironmentSpec environment;
  // The numbers of first choices in the user's own spaces, where these are not 0: one an element, by leaf.
  std::map<std::string, std::vector<int64_t>> starts = {};
  // The transforms around the environment, as EnvironmentOptions has them: a JSON list. They are no part of the policy.
  std::string transforms_json = "[]";
  // How the weights did, as summary.json has it: a JSON object; empty if it is not known.
  std::string result_json = {};
};

}  // namespace waggle
