#include "common/nn/recurrent_core.h"

#include <vector>

namespace waggle {
namespace {

using torch::Tensor;

// States after a step, from those before it and what the gates get of the input and of the output before.
std::vector<Tensor> LstmStep(const Tensor& input, const Tensor& recurrent, const std::vector<Tensor>& before) {
  const std::vector<Tensor> gates = (input + recurrent).chunk(4, -1);
  const Tensor cell = gates[1].sigmoid() * before[1] + gates[0].sigmoid() * gates[2].tanh();
  return {gates[3].sigmoid() * cell.tanh(), cell};
}

std::vector<Tensor> GruStep(const Tensor& input, const Tensor& recurrent, const std::vector<Tensor>& before) {
  const std::vector<Tensor> in = input.chunk(3, -1);
  const std::vector<Tensor> back = recurrent.chunk(3, -1);
  const Tensor update = (in[1] + back[1]).sigmoid();
  const Tensor proposed = (in[2] + (in[0] + back[0]).sigmoid() * back[2]).tanh();
  return {proposed + update * (before[0] - proposed)};
}

}  // namespace

RecurrentCore::RecurrentCore(const CorePlan& plan, bool learns, FlatParameters* parameters) : plan_(plan) {
  const auto parameter = [&](int64_t index) {
    return learns ? parameters->AddLeaf(index) : parameters->value_views()[static_cast<size_t>(index)];
  };
  weight_ih_ = parameter(plan.weight);
  weight_hh_ = parameter(plan.weight + 1);
  bias_ih_ = parameter(plan.weight + 2);
  bias_hh_ = parameter(plan.weight + 3);
}

RecurrentCore::Unrolled RecurrentCore::operator()(const Tensor& features, const Tensor& first,
                                                  const Tensor& state) const {
  const int64_t rows = state.size(0);
  const int64_t steps = features.size(0) / rows;
  const std::vector<Tensor> inputs = torch::linear(features, weight_ih_, bias_ih_).chunk(steps);
  std::vector<Tensor> now = state.split(plan_.units, -1);
  std::vector<Tensor> outputs;
  outputs.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    if (first.defined()) {
      const Tensor begins = first.select(0, static_cast<int64_t>(outputs.size())).unsqueeze(-1);
      for (Tensor& part : now) {
        part = part.masked_fill(begins, 0);
      }
    }
    const Tensor recurrent = torch::linear(now[0], weight_hh_, bias_hh_);
    now = plan_.kind == CorePlan::Kind::kLstm ? LstmStep(input, recurrent, now) : GruStep(input, recurrent, now);
    outputs.push_back(now[0]);
  }
  return {torch::cat(outputs), torch::cat(now, -1)};
}

}  // namespace waggle
