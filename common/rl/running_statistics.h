#pragma once

#include <cstdint>
#include <vector>

#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/plan/network_spec.h"

namespace waggle {

// Mean and variance, element by element, of the rows that were given, in float64 on one device: for observations and
// rewards on a common scale. NormalizerSpec says how much earlier rows weigh. Not thread-safe; may throw as LibTorch
// does, and c10::Error with what was got and wanted for shapes that do not fit. Nothing waits for the device.
class RunningStatistics {
 public:
  // Rows have this shape; {} for numbers.
  RunningStatistics(std::vector<int64_t> shape, torch::Device device, NormalizerSpec average = {});

  // Takes in a batch, [rows, shape...] of any type; no rows change nothing. One number that is not finite makes that
  // element's statistics so for good, or until its batch leaves the window.
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

  // What follows from the rows, flat: [1 + 2 * elements] float64: the weight of all rows, the means, and the weighted
  // sums of squared deviations. Load takes such a tensor from any device, as if it were one batch and the first.
  const torch::Tensor& state() const { return state_; }
  void Load(const torch::Tensor& state);

  void VisitState(StateVisitor* visitor);

 private:
  void CheckShape(const torch::Tensor& x) const;
  // Adds a batch of so many rows to a state whose weight is at most `most_before` first.
  void Add(const torch::Tensor& rows, double most_before);
  // Makes the state that of all batches in the window.
  void AddUpWindow();
  void Derive();

  const std::vector<int64_t> shape_;
  const NormalizerSpec average_;
  torch::Tensor state_;
  // Views of the state.
  torch::Tensor weight_, mean_, squares_;
  // What follows from it.
  torch::Tensor variance_, deviation_;
  double rows_ = 0;       // adaptive: all that were ever given.
  torch::Tensor window_;  // window: [window, 1 + 2 * elements], the states of the newest batches.
  int64_t next_ = 0;      // window: the batch that the next one replaces.
};

}  // namespace waggle
