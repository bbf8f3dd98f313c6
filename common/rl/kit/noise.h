#pragma once

#include <cstdint>

#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"

namespace waggle {

// An algorithm's random numbers, drawn on its device. They depend on the seed and earlier draws only. No draw waits for
// the device. Tests may override the numbers. Not thread-safe; may throw as LibTorch does.
class Noise {
 public:
  Noise(uint64_t seed, torch::Device device);
  Noise(const Noise&) = delete;
  Noise& operator=(const Noise&) = delete;
  virtual ~Noise() = default;

  // Standard normal, and uniform in [0, 1), of the shape and floating-point type of `like`, on the generator's device.
  virtual torch::Tensor NormalLike(const torch::Tensor& like);
  virtual torch::Tensor UniformLike(const torch::Tensor& like);

  // One choice for each row: [..., choices] -> int64 [...], in proportion to probabilities, which must be >= 0 and need
  // not sum to 1. Choices of probability 0 are not drawn; a row of zeros gives the first.
  virtual torch::Tensor Categorical(const torch::Tensor& probabilities);

  // The numbers 0 to n - 1 in a uniformly random order: int64 [n].
  virtual torch::Tensor Permutation(int64_t n);

  // The whole state: a restored generator continues bit for bit. Kinds of devices have states of different sizes.
  void VisitState(StateVisitor* visitor);

 private:
  torch::Device device_;
  torch::Generator generator_;
};

}  // namespace waggle
