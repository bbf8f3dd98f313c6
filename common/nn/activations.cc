#include "common/nn/activations.h"

namespace waggle {

using torch::Tensor;

Tensor Activate(Activation activation, const Tensor& input) {
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

bool NeedsInput(Activation activation) {
  return activation == Activation::kGelu || activation == Activation::kSilu;
}

void ActivateInPlace(Activation activation, Tensor& values) {
  switch (activation) {
    case Activation::kRelu:
      at::relu_(values);
      return;
    case Activation::kTanh:
      at::tanh_(values);
      return;
    case Activation::kElu:
      at::elu_(values);
      return;
    case Activation::kLeakyRelu:
      at::leaky_relu_(values);
      return;
    case Activation::kSigmoid:
      at::sigmoid_(values);
      return;
    case Activation::kGelu:
    case Activation::kSilu:
    case Activation::kNone:
      return;
  }
}

Tensor ActivationBackward(Activation activation, const Tensor& gradient, const Tensor& before, const Tensor& output) {
  switch (activation) {
    case Activation::kNone:
      return gradient;
    case Activation::kRelu:
      return at::threshold_backward(gradient, output, 0);
    case Activation::kTanh:
      return at::tanh_backward(gradient, output);
    case Activation::kElu:
      return at::elu_backward(gradient, 1, 1, 1, /*is_result=*/true, output);
    case Activation::kLeakyRelu:
      return at::leaky_relu_backward(gradient, output, 0.01, /*self_is_result=*/true);
    case Activation::kSigmoid:
      return at::sigmoid_backward(gradient, output);
    case Activation::kGelu:
      return at::gelu_backward(gradient, before);
    case Activation::kSilu:
      return at::silu_backward(gradient, before);
  }
  return gradient;
}

}  // namespace waggle
