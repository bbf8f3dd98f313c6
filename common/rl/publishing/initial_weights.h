#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/spec/environment_spec.h"
#include "common/rl/checkpoint/checkpoint_contents.h"

namespace waggle {

// Parameters of another run, with which networks and learned numbers of this one begin (`learner.init`).
struct InitialWeights {
  struct Parameter {
    std::string network;    // This run's, or its learned number.
    std::string name;       // In the network's plan; the learned number's own.
    CheckpointArray array;  // Finite float32 of the parameter's shape.
  };
  std::vector<Parameter> parameters;
  std::string folder;             // The folder that they were read from.
  std::vector<std::string> anew;  // Networks and parts of them that begin as in a new run: "critic", "q.heads.q".
  std::vector<std::string> left;  // Those of the source that this run does not use.
};

// Finds what `init` asks for, for networks of the (valid) experiment's plan. Statistics by which a network normalises
// observations come with its other parameters. NOT_FOUND or INVALID_ARGUMENT, behind its key, if the folder has no
// weights, a prefix has no parameter, or a parameter has another shape or is not finite. Blocks on the disk.
absl::StatusOr<InitialWeights> FindInitialWeights(const InitOptions& init, const ExperimentPlan& plan,
                                                  const EnvironmentSpec& environment,
                                                  const AlgorithmDefinitions& algorithms);

}  // namespace waggle
