#include "common/rl/acting/acting_parameters.h"

#include <utility>

#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::map<std::string, FlatParameters>> NewActingScalars(const AlgorithmPlan& plan,
                                                                       torch::Device device) {
  std::map<std::string, FlatParameters> scalars;
  for (const ScalarNeed& need : plan.scalars) {
    if (need.acts) {
      WAGGLE_ASSIGN_OR_RETURN(FlatParameters made, FlatParameters::Create({NumberColumn(need.name)}, device,
                                                                          torch::kFloat32, /*learns=*/false));
      scalars.emplace(need.name, std::move(made));
    }
  }
  return scalars;
}

std::vector<NamedParameters> ActingParameters(const AlgorithmPlan& plan,
                                              const std::vector<std::unique_ptr<Network>>& networks,
                                              std::map<std::string, FlatParameters>* scalars) {
  std::vector<NamedParameters> parameters;
  for (const std::unique_ptr<Network>& network : networks) {
    parameters.push_back({network->plan().name, &network->parameters()});
  }
  for (const ScalarNeed& need : plan.scalars) {
    if (need.acts) {
      parameters.push_back({need.name, &scalars->at(need.name)});
    }
  }
  return parameters;
}

}  // namespace waggle
