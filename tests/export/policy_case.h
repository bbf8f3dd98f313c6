#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/spec/environment_spec.h"
#include "common/hub/ports/model.h"
#include "common/nn/network.h"

namespace waggle::testing {

// Published weights with drawn parameters and statistics, and the networks that have them.
ModelSnapshot DrawWeights(const ExperimentPlan& plan, std::vector<std::unique_ptr<Network>>* networks);

// Exports a policy with drawn parameters and statistics to FOLDER/NAME.onnx, and lets the real greedy NetworkPolicy act
// for rows of drawn observations in several lanes, whose episodes begin anew now and then. Writes observations, first
// rows, the environment's actions and, if the acting network has one head for it, what that head gives ("q", "logits",
// "mean", "stddev") to FOLDER/NAME.bin, and where they are to FOLDER/NAME.json: {"algorithm", "arrays": [{"name",
// "dtype", "shape": [steps, lanes, …], "offset"}]}.
void WritePolicyCase(const std::string& name, const Experiment& experiment, const EnvironmentSpec& environment,
                     const std::string& folder);

// The same in the environment of the experiment's evaluations, which is built in and has transforms: observations are
// those that the environment itself shows, and the C++ policy sees them through its transforms.
void WriteTransformedCase(const std::string& name, const Experiment& experiment, const std::string& folder);

}  // namespace waggle::testing
