#include "common/rl/algorithms/taac/switch.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {

using torch::Tensor;

Switch::Switch(Tensor value_of_repeated, Tensor value_of_proposed, const Tensor& temperature)
    : repeated(std::move(value_of_repeated)), proposed(std::move(value_of_proposed)) {
  const Tensor logit = (proposed - repeated) / temperature;
  probability = logit.sigmoid();
  entropy = at::softplus(logit) - probability * logit;
}

Tensor CompareThroughReturns(const Tensor& reward, const Tensor& discount, const Tensor& repeats,
                             const Switch& choices) {
  const torch::NoGradGuard no_grad;
  const Tensor value = choices.Value();
  const int64_t steps = reward.size(0);
  std::vector<Tensor> returns(static_cast<size_t>(steps));
  Tensor next = value[steps];
  for (int64_t t = steps - 1; t >= 0; --t) {
    const Tensor ret = Bootstrapped(reward[t], discount[t], next);
    const Tensor probability = choices.probability[t];
    next = torch::where(repeats[t], (1 - probability) * ret + probability * choices.proposed[t], value[t]);
    returns[static_cast<size_t>(t)] = ret;
  }
  return torch::stack(returns);
}

}  // namespace waggle
