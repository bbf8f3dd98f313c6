#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/nn/flat_parameters.h"
#include "common/nn/torch.h"
#include "common/plan/network_plan.h"

namespace waggle {

// Dense layers and convolutions that follow each other, as one operation of autograd: small networks spend most of
// their time in its book-keeping. If autograd wants the parameters' gradients, they are added to
// FlatParameters::gradients() in place; double differentiation is an error. Not thread-safe; may throw as LibTorch
// does.
class Chain {
 public:
  // Layers of kind kDense and kConv, at least one; their parameters are contiguous. `members` is NetworkPlan's.
  // `learns`: autograd's leaf of them is appended to the parameters' leaves.
  Chain(const std::vector<const LayerPlan*>& layers, std::optional<int64_t> members, bool learns,
        FlatParameters* parameters);

  // The last layer's outputs, [rows, …] for [rows, …], or [members, rows, …] for that or for the same of each member.
  torch::Tensor operator()(const torch::Tensor& input) const;

  // The same by autograd's own operations, for comparisons. Its gradients by the parameters go to the same place.
  torch::Tensor ByAutograd(const torch::Tensor& input) const;

 private:
  struct Layers;
  class Backward;

  std::shared_ptr<const Layers> layers_;
};

}  // namespace waggle
