#pragma once

#include <memory>
#include <vector>

#include "common/nn/network.h"
#include "common/nn/torch_compat.h"
#include "tests/support/catch.h"
#include "tests/support/networks.h"

namespace waggle::testing {

// The inputs of a network: a tensor for each leaf of the observation, an action if it takes one, and an algorithm's
// own.
struct NetworkInputs {
  std::vector<torch::Tensor> leaves;
  torch::Tensor action;
  std::vector<torch::Tensor> extra;

  // The inputs with gradients.
  std::vector<torch::Tensor> Differentiable() const {
    std::vector<torch::Tensor> result;
    for (const torch::Tensor& input : leaves) {
      if (input.requires_grad()) {
        result.push_back(input);
      }
    }
    if (action.defined() && action.requires_grad()) {
      result.push_back(action);
    }
    result.insert(result.end(), extra.begin(), extra.end());
    return result;
  }
};

// Random values of a leaf, [rows, …]. A floating leaf is of type `dtype`, and gradients flow to it.
inline torch::Tensor RandomLeaf(const SpaceLeaf& leaf, int64_t rows, torch::ScalarType dtype) {
  std::vector<int64_t> shape = leaf.array.shape;
  shape.insert(shape.begin(), rows);
  if (!leaf.num_values.empty()) {
    std::vector<torch::Tensor> columns;
    for (const int64_t choices : leaf.num_values) {
      columns.push_back(torch::randint(0, choices, {rows}, torch::kInt64));
    }
    return torch::stack(columns, 1).reshape(shape);
  }
  if (leaf.array.dtype == DType::kUint8) {
    return torch::randint(0, 256, shape, torch::kUInt8);
  }
  if (leaf.array.dtype == DType::kBool) {
    return torch::randint(0, 2, shape, torch::kInt64).to(torch::kBool);
  }
  return torch::randn(shape, dtype).requires_grad_();
}

// The same for the same seed.
inline NetworkInputs RandomInputs(const NetworkCase& network, int64_t rows, torch::ScalarType dtype,
                                  uint64_t seed = 3) {
  torch::manual_seed(seed);
  NetworkInputs inputs;
  for (const SpaceLeaf& leaf : network.environment.observations) {
    inputs.leaves.push_back(RandomLeaf(leaf, rows, dtype));
  }
  if (network.need.takes_action) {
    inputs.action = RandomLeaf(ValueOf(AsOneLeaf(network.environment)), rows, dtype);
  }
  for (const InputNeed& input : network.need.extra) {
    inputs.extra.push_back(torch::randn({rows, input.width}, dtype).requires_grad_());
  }
  return inputs;
}

// The same for `steps` steps of `rows` rows, with states and with episodes that begin at random.
struct UnrollInputs {
  NetworkInputs inputs;
  torch::Tensor first;  // Bool [steps, rows].
  torch::Tensor state;  // [rows, state_size], with a gradient.
};

inline UnrollInputs RandomUnroll(const NetworkCase& network, int64_t state_size, int64_t steps, int64_t rows,
                                 torch::ScalarType dtype) {
  UnrollInputs unroll;
  unroll.inputs = RandomInputs(network, steps * rows, dtype);
  unroll.first = torch::rand({steps, rows}) < 0.3;
  unroll.state = torch::randn({rows, state_size}, dtype).requires_grad_();
  return unroll;
}

inline NetworkPlan PlanOf(const NetworkCase& network) {
  return ValueOf(PlanNetwork(network.need, network.spec, network.environment));
}

inline std::unique_ptr<Network> Build(const NetworkCase& network, torch::ScalarType dtype = torch::kFloat32,
                                      uint64_t seed = 7, bool learns = true) {
  return ValueOf(Network::Create(PlanOf(network), torch::kCPU, seed, dtype, learns));
}

// A fixed function of all of a network's outputs.
inline torch::Tensor LossOf(const std::vector<Network::HeadOutput>& outputs) {
  torch::Tensor loss = torch::zeros({}, outputs[0].values.options());
  const auto add = [&](const torch::Tensor& values) {
    const torch::Tensor weights = torch::arange(1, values.numel() + 1, values.options()).view(values.sizes()).sin();
    loss = loss + (values * weights).sum() + (values * values).sum() / 4;
  };
  for (const Network::HeadOutput& output : outputs) {
    add(output.values);
    if (output.log_std.defined()) {
      add(output.log_std);
    }
  }
  return loss;
}

}  // namespace waggle::testing
