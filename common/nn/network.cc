#include "common/nn/network.h"

#include <ATen/CPUGeneratorImpl.h>

#include "common/base/status_macros.h"
#include "common/nn/initialize.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

torch::Tensor Activate(Activation activation, const torch::Tensor& input) {
  switch (activation) {
    case Activation::kNone:
      return input;
    case Activation::kRelu:
      return torch::relu(input);
    case Activation::kTanh:
      return torch::tanh(input);
    case Activation::kElu:
      return torch::elu(input);
    case Activation::kGelu:
      return torch::gelu(input);
    case Activation::kSilu:
      return torch::silu(input);
    case Activation::kLeakyRelu:
      return torch::leaky_relu(input);
    case Activation::kSigmoid:
      return torch::sigmoid(input);
  }
  return input;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> Network::Create(NetworkPlan plan, torch::Device device, uint64_t seed,
                                                         torch::ScalarType dtype) {
  WAGGLE_ASSIGN_OR_RETURN(FlatParameters parameters, FlatParameters::Create(plan.shape.parameters, device, dtype));
  return CatchTorch("initialising a network", [&] {
    torch::NoGradGuard no_grad;
    torch::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    for (const std::vector<LayerPlan>* layers : {&plan.torso, &plan.value, &plan.output}) {
      for (const LayerPlan& layer : *layers) {
        const size_t index = static_cast<size_t>(layer.weight);
        const InitialValues values =
            Initialize(layer.initialization, layer.activation, plan.shape.parameters[index].shape, generator);
        parameters.value_views()[index].copy_(values.weight);
        parameters.value_views()[index + 1].copy_(values.bias);
      }
    }
    return std::unique_ptr<Network>(new Network(std::move(plan), std::move(parameters)));
  });
}

torch::Tensor Network::Enter(const torch::Tensor& observations) const {
  const torch::ScalarType dtype = parameters_.values().scalar_type();
  if (observations.scalar_type() == torch::kUInt8) {
    return observations.to(dtype).mul_(1.0 / 255);
  }
  return observations.scalar_type() == dtype ? observations : observations.to(dtype);
}

torch::Tensor Network::Apply(const LayerPlan& layer, const torch::Tensor& input) const {
  const size_t index = static_cast<size_t>(layer.weight);
  const torch::Tensor& weight = parameters_.leaves()[index];
  const torch::Tensor& bias = parameters_.leaves()[index + 1];
  if (layer.kind == LayerPlan::Kind::kConv) {
    return Activate(layer.activation, torch::conv2d(input, weight, bias, layer.stride, layer.padding));
  }
  return Activate(layer.activation,
                  torch::linear(input.dim() == 2 ? input : input.reshape({input.size(0), -1}), weight, bias));
}

torch::Tensor Network::Forward(const torch::Tensor& observations) const {
  torch::Tensor features = Enter(observations);
  for (const LayerPlan& layer : plan_.torso) {
    features = Apply(layer, features);
  }
  torch::Tensor outputs = features;
  for (const LayerPlan& layer : plan_.output) {
    outputs = Apply(layer, outputs);
  }
  if (plan_.value.empty()) {
    return outputs;
  }
  torch::Tensor value = features;
  for (const LayerPlan& layer : plan_.value) {
    value = Apply(layer, value);
  }
  return value + outputs - outputs.mean(1, /*keepdim=*/true);
}

}  // namespace waggle
