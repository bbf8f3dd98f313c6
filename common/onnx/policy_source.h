#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/config/experiment/experiment.h"
#include "common/config/spec/environment_spec.h"
#include "common/onnx/observation_graph.h"
#include "common/rl/checkpoint/saved_weights.h"

namespace waggle {

// The parts that an exported policy is made of.
struct PolicySource {
  SavedWeights weights;  // Not random.
  Experiment experiment;
  // The one that evaluations act in, with its transforms.
  EnvironmentSpec environment;
  // The last transforms, which become part of the policy, and the observations before them; empty without steps.
  std::vector<ObservationStep> steps = {};
  std::vector<SpaceLeaf> shown = {};
  // The numbers of first choices in the user's own spaces, where these are not 0: one an element, by leaf.
  std::map<std::string, std::vector<int64_t>> starts = {};
  // The other transforms, which are left to the caller: a JSON list as EnvironmentOptions has it.
  std::string transforms_json = "[]";
  // How the weights did, as summary.json has it: a JSON object; empty if it is not known.
  std::string result_json = {};

  // The observations that the policy takes.
  const std::vector<SpaceLeaf>& Inputs() const { return steps.empty() ? environment.observations : shown; }
};

}  // namespace waggle
