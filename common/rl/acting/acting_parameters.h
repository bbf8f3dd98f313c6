#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/plan/algorithm_plan.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/network.h"
#include "common/nn/torch.h"
#include "common/nn/weights_codec.h"

namespace waggle {

// The scalars of a plan that act, by name. All are 0 until weights are loaded. Errors are FlatParameters::Create's.
absl::StatusOr<std::map<std::string, FlatParameters>> NewActingScalars(const AlgorithmPlan& plan, torch::Device device);

// The parameters that are published together, in the order of Model::Publish: those of acting networks, then scalars.
// The arguments must outlive the result.
std::vector<NamedParameters> ActingParameters(const AlgorithmPlan& plan,
                                              const std::vector<std::unique_ptr<Network>>& networks,
                                              std::map<std::string, FlatParameters>* scalars);

}  // namespace waggle
