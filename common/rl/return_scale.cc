#include "common/rl/return_scale.h"

#include "common/rl/returns/advantages.h"

namespace waggle {

torch::Tensor ReturnScale::Rewards(const Unrolls& unrolls, const torch::Tensor& value, double lambda) {
  if (!enabled_) {
    return unrolls.reward;
  }
  const torch::NoGradGuard no_grad;
  const torch::Tensor deviation = returns_.deviation().to(value.scalar_type());
  const torch::Tensor returns =
      LambdaReturns(unrolls.reward, unrolls.discount, value.detach() * deviation, unrolls.last, lambda);
  returns_.Update(returns.masked_select(unrolls.counts));
  return returns_.Scale(unrolls.reward);
}

}  // namespace waggle
