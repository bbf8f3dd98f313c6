#pragma once

#include <cstdint>
#include <vector>

#include "common/config/plan/network_spec.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"

namespace waggle {

// Elementwise mean and variance of rows, float64 on one device, for scaling observations and rewards. NormalizerSpec
// decides the weight of earlier rows. Not thread-safe; may throw as LibTorch does, and c10::Error with what was got and
// wanted for wrong shapes. Never waits for the device.
class RunningStatistics {
 public:
  // Rows have this shape; {} for numbers.
  RunningStatistics(std::vector<int64_t> shape, torch::Device device, NormalizerSpec average = {});

  // Adds a batch, [rows, shape...] of any type; without rows it does nothing. An element that is not finite makes its
  // mean and variance NaN or infinite for ever, or until its batch leaves the window.
  void Update(const torch::Tensor& batch);

  // (x - mean) / deviation in [-clip, clip], which may be infinite. x is [..., shape...]; keeps a floating-point type,
  // else gives float32.
  torch::Tensor Normalize(const torch::Tensor& x, double clip) const;

  // x / deviation, for rewards, whose sign matters.
  torch::Tensor Scale(const torch::Tensor& x) const;

  // Float64, `shape`. The next Update may overwrite them. 0 and 1 without rows. The variance is the population's.
  const torch::Tensor& mean() const { return mean_; }
  const torch::Tensor& variance() const { return variance_; }
  // sqrt(variance + 1e-8), the divisor of Normalize and Scale.
  const torch::Tensor& deviation() const { return deviation_; }

  // The state, flat, [1 + 2 * elements] float64: the weight of all rows, the means, and the weighted sums of squared
  // deviations. Load takes such a tensor from any device as the first batch.
  const torch::Tensor& state() const { return state_; }
  void Load(const torch::Tensor& state);

  void VisitState(StateVisitor* visitor);

 private:
  void CheckShape(const torch::Tensor& x) const;
  // Adds a batch to a state whose weight is first limited to `most_before`.
  void Add(const torch::Tensor& rows, double most_before);
  // Sets the state to that of all batches in the window.
  void AddUpWindow();
  void Derive();

  const std::vector<int64_t> shape_;
  const NormalizerSpec average_;
  torch::Tensor state_;
  // Views of the state.
  torch::Tensor weight_, mean_, squares_;
  // Derived from the state.
  torch::Tensor variance_, deviation_;
  double rows_ = 0;       // adaptive: number of all rows so far.
  torch::Tensor window_;  // window: [window, 1 + 2 * elements], states of the newest batches.
  int64_t next_ = 0;      // window: the batch that is replaced next.
};

}  // namespace waggle
