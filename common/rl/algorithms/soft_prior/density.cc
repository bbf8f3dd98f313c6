#include "common/rl/algorithms/soft_prior/density.h"

#include <cmath>

namespace waggle {

using torch::Tensor;

namespace {

constexpr double kWidth = 2;

}  // namespace

Tensor LogTruncatedNormal(const Tensor& x, const Tensor& mean, double deviation) {
  // With the mean within the interval neither term is negative, so that no digits cancel.
  const Tensor mass = 0.5 * (torch::erf((1 - mean) / (deviation * M_SQRT2)) +  //
                             torch::erf((1 + mean) / (deviation * M_SQRT2)));
  return ((x - mean) / deviation).square() * -0.5 - mass.log() - std::log(deviation * std::sqrt(2 * M_PI));
}

Tensor LogPrior(const SoftPriorOptions& options, const Tensor& action, const Tensor& before, const Tensor& first) {
  if (options.type == "uniform") {
    return torch::full({}, -std::log(kWidth) * static_cast<double>(action.size(-1)), action.options())
        .expand_as(action.select(-1, 0));
  }
  const Tensor broad = LogTruncatedNormal(action, torch::zeros({}, action.options()), kWidth * options.deviation);
  if (!options.needs_action_before()) {
    return broad.sum(-1);
  }
  const Tensor narrow = LogTruncatedNormal(action, before.clamp(-1, 1), kWidth * options.same_action_noise);
  const Tensor either = torch::logaddexp(broad + std::log1p(-options.same_action_probability),
                                         narrow + std::log(options.same_action_probability));
  return torch::where(first.unsqueeze(-1), broad, either).sum(-1);
}

}  // namespace waggle
