#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/nn/torch.h"

namespace waggle {

// Finds values that diverge: the values of a policy lie within the largest reward / (1 - discount). Not thread-safe;
// may throw as LibTorch does.
class ValueWatch {
 public:
  // `discount` is a step's. Values without discount have no bound.
  explicit ValueWatch(double discount) : discount_(discount) {}

  // Adds the rewards of an update, of any shapes, and the mean of its values, a scalar. `bonus`, a scalar, is what a
  // soft policy earns a step by its entropy; undefined if nothing. Returns a warning when the mean is first seen above
  // twice the bound; empty otherwise, and before the first reward. Reads the device every thousandth call alone.
  std::string Observe(const std::vector<torch::Tensor>& rewards, const torch::Tensor& mean_value,
                      const torch::Tensor& bonus = {});

 private:
  const double discount_;
  torch::Tensor largest_reward_;  // A scalar on the device; undefined before the first update.
  int64_t updates_ = 0;
  bool warned_ = false;
};

}  // namespace waggle
