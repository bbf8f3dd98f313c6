#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/config/plan/network_plan.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/torch.h"

namespace waggle {

// Consecutive dense layers and convolutions as one operation of autograd, whose book-keeping takes most of the time of
// small networks. Gradients of parameters are added to FlatParameters::gradients() in place. Double differentiation is
// an error. Not thread-safe; may throw as LibTorch does.
class Chain {
 public:
  // Layers must be kDense or kConv, at least one, with contiguous parameters. `members` is NetworkPlan's. If `learns`,
  // autograd's leaf is appended to the parameters' leaves.
  Chain(const std::vector<const LayerPlan*>& layers, std::optional<int64_t> members, bool learns,
        FlatParameters* parameters);

  // The last layer's outputs: [rows, …] for [rows, …], or [members, rows, …] for that or for an input of each member.
  torch::Tensor operator()(const torch::Tensor& input) const;

  // The same by autograd's own operations, for comparisons. Parameters' gradients go to the same place.
  torch::Tensor ByAutograd(const torch::Tensor& input) const;

 private:
  struct Layers;
  class Backward;

  std::shared_ptr<const Layers> layers_;
};

}  // namespace waggle
