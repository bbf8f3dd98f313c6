#pragma once

#include <cstdint>

#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"

namespace waggle {

// An algorithm's own random numbers, drawn on its device: what it draws follows from its seed and from what it drew
// before, whatever else the process draws. No draw waits for the device. A test may give numbers of its own instead.
// Not thread-safe; may throw as LibTorch does.
class Noise {
 public:
  Noise(uint64_t seed, torch::Device device);
  Noise(const Noise&) = delete;
  Noise& operator=(const Noise&) = delete;
  virtual ~Noise() = default;

  // Of `like`'s shape and element type, which is a floating-point one, on this generator's device: standard normal, and
  // uniform in [0, 1).
  virtual torch::Tensor NormalLike(const torch::Tensor& like);
  virtual torch::Tensor UniformLike(const torch::Tensor& like);

  // One choice for each row: [..., choices] -> int64 [...]. A choice is drawn in proportion to its probability, which
  // is at least 0; one of probability 0 never is, unless its whole row is 0: then the first is. Rows need not sum to 1.
  virtual torch::Tensor Categorical(const torch::Tensor& probabilities);

  // The numbers 0 to n - 1 in an order of which all are equally likely: int64 [n].
  virtual torch::Tensor Permutation(int64_t n);

  // The whole state: a restored generator goes on bit for bit. States of different kinds of device are no exchange for
  // one another: they differ in size.
  void VisitState(StateVisitor* visitor);

 private:
  torch::Device device_;
  torch::Generator generator_;
};

}  // namespace waggle
