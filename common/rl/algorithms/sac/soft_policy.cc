#include "common/rl/algorithms/sac/soft_policy.h"

namespace waggle {

torch::Tensor ChoiceTargetEntropy(const std::optional<double>& given, const torch::Tensor& values,
                                  const torch::Tensor& mask) {
  if (given.has_value()) {
    return torch::full({}, *given, values.options());
  }
  return Distribution::Categorical(torch::zeros_like(values), mask).Entropy() * SacOptions::kShareOfUniformEntropy;
}

Output CriticsOutput(const Network& critics, const SoftRows& rows, const torch::Tensor& action) {
  const NetworkPlan& plan = critics.plan();
  if (plan.state_size == 0) {
    return Forward(critics, rows.observation, action);
  }
  const torch::Tensor state =
      torch::zeros({rows.first.size(1), plan.state_size}, critics.parameters().values().options());
  // The action joins behind the core, so that memories are of the past alone.
  return Unroll(critics, rows.observation, rows.first, state, {},
                action.defined() ? ExtraInputs{action} : ExtraInputs());
}

}  // namespace waggle
