#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "common/nn/chain.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/torch.h"
#include "common/plan/network_plan.h"

namespace waggle {

// Layers one after the other, as planned. Not thread-safe; may throw as LibTorch does.
class LayerStack {
 public:
  LayerStack() = default;
  // `members` and `learns` as of Chain.
  LayerStack(const std::vector<LayerPlan>& layers, std::optional<int64_t> members, bool learns,
             FlatParameters* parameters);

  // [rows, …] for [rows, …], or [members, rows, …] for that or for the same of each member. `by_autograd`: without
  // Chain's own backward pass, to compare with.
  torch::Tensor operator()(torch::Tensor features, bool by_autograd = false) const;

  // Whether nothing is done.
  bool empty() const { return steps_.empty(); }

 private:
  // A layer that is no part of a chain, with its parameters as leaves where they are learned.
  struct Single {
    LayerPlan plan;
    torch::Tensor weight, bias;
    std::shared_ptr<const LayerStack> inner;
  };

  torch::Tensor Run(const Single& layer, const torch::Tensor& features, bool by_autograd) const;

  std::optional<int64_t> members_;
  torch::ScalarType dtype_ = torch::kFloat32;  // Of what it computes with.
  std::vector<std::variant<Chain, Single>> steps_;
};

}  // namespace waggle
