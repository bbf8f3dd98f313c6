#include "common/rl/training/value_watch.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace waggle {
namespace {

constexpr int64_t kPeriod = 1000;  // Updates.

}  // namespace

std::string ValueWatch::Observe(const std::vector<torch::Tensor>& rewards, const torch::Tensor& mean_value,
                                const torch::Tensor& bonus) {
  if (warned_ || discount_ >= 1) {
    return "";
  }
  const torch::NoGradGuard no_grad;
  for (const torch::Tensor& reward : rewards) {
    const torch::Tensor largest = reward.abs().max();
    largest_reward_ = largest_reward_.defined() ? torch::maximum(largest_reward_, largest) : largest;
  }
  if (++updates_ % kPeriod != 0 || !largest_reward_.defined()) {
    return "";
  }
  const double largest = largest_reward_.item<double>();
  if (largest == 0) {
    return "";
  }
  const double earned = largest + (bonus.defined() ? std::abs(bonus.item<double>()) : 0);
  const double bound = earned / (1 - discount_);
  const double value = mean_value.item<double>();
  warned_ = std::abs(value) > 2 * bound;
  return warned_ ? absl::StrFormat(
                       "the values diverge: their mean is %.4g, and rewards up to %.4g at a discount of %.4g "
                       "allow %.4g at most",
                       value, largest, discount_, bound)
                 : "";
}

}  // namespace waggle
