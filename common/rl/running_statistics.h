#pragma once

#include <cstdint>
#include <vector>

#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"

namespace waggle {

// Mean and variance, element by element, of all rows that were ever given, in float64 on one device: for observations
// and rewards on a common scale. Not thread-safe; may throw as LibTorch does, and c10::Error with what was got and
// wanted for shapes that do not fit. Nothing waits for the device.
class RunningStatistics {
 public:
  // Of rows of this shape; {} for numbers. `forgetting` in [0, 1): each Update first takes this share from the weight
  // of all that came before, so that means follow a stream that drifts; 0 weighs all rows alike.
  RunningStatistics(std::vector<int64_t> shape, torch::Device device, double forgetting = 0);

  // Takes in a batch, [rows, shape...] of any type; no rows change nothing. One number that is not finite makes that
  // element's statistics so for good.
  void Update(const torch::Tensor& batch);

  // (x - mean) / deviation, within [-clip, clip]; infinity: as it is. x is [..., shape...] and keeps its
  // type if that is a floating-point one; else it becomes float32.
  torch::Tensor Normalize(const torch::Tensor& x, double clip) const;

  // x / deviation, for rewards: their sign means something.
  torch::Tensor Scale(const torch::Tensor& x) const;

  // Float64, `shape`, as of now; the next Update may write over them. 0 and 1 while there were no rows. The variance is
  // the population's.
  const torch::Tensor& mean() const { return mean_; }
  const torch::Tensor& variance() const { return variance_; }
  // sqrt(variance + 1e-8): what Normalize and Scale divide by.
  const torch::Tensor& deviation() const { return deviation_; }

  // All there is to know, flat, so that it can be published beside weights: [1 + 2 * elements] float64: the weight of
  // all rows, the means, and the weighted sums of squared deviations. Load takes a copy of the same shape, from any
  // device.
  const torch::Tensor& state() const { return state_; }
  void Load(const torch::Tensor& state);

  void VisitState(StateVisitor* visitor);

 private:
  void CheckShape(const torch::Tensor& x) const;
  void Derive();

  const std::vector<int64_t> shape_;
  const double forgetting_;
  torch::Tensor state_;
  // Views of the state.
  torch::Tensor weight_, mean_, squares_;
  // What follows from it.
  torch::Tensor variance_, deviation_;
};

}  // namespace waggle
