#include "common/nn/network_tape.h"

#include <array>
#include <utility>

namespace waggle {
namespace {

// Whether the activation's derivative needs its input; the others follow from the output, which may overwrite it.
bool NeedsInput(Activation activation) {
  return activation == Activation::kGelu || activation == Activation::kSilu;
}

void ActivateInPlace(Activation activation, torch::Tensor& values) {
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

// The gradient by the activation's input, into `buffer` where it has a form that does that.
torch::Tensor ActivationBackward(Activation activation, const torch::Tensor& gradient, const torch::Tensor& before,
                                 const torch::Tensor& output, torch::Tensor& buffer) {
  switch (activation) {
    case Activation::kNone:
      return gradient;
    case Activation::kRelu:
      return at::threshold_backward_out(buffer, gradient, output, 0);
    case Activation::kTanh:
      return at::tanh_backward_out(buffer, gradient, output);
    case Activation::kElu:
      return at::elu_backward_out(buffer, gradient, 1, 1, 1, /*is_result=*/true, output);
    case Activation::kLeakyRelu:
      return at::leaky_relu_backward_out(buffer, gradient, output, 0.01, /*self_is_result=*/true);
    case Activation::kSigmoid:
      return at::sigmoid_backward_out(buffer, gradient, output);
    case Activation::kGelu:
      return at::gelu_backward(gradient, before);
    case Activation::kSilu:
      return at::silu_backward(gradient, before);
  }
  return gradient;
}

// Empties a buffer that was made for another number of rows: LibTorch warns of outputs that it must resize.
void Fit(torch::Tensor* buffer, int64_t rows) {
  if (buffer->size(0) != 0 && buffer->size(0) != rows) {
    *buffer = torch::empty({0}, buffer->options());
  }
}

torch::Tensor FirstRows(const torch::Tensor& tensor, int64_t rows) {
  return tensor.size(0) == rows ? tensor : tensor.narrow(0, 0, rows);
}

}  // namespace

NetworkTape::NetworkTape(Network* network) : network_(network) {
  for (const LayerPlan& layer : network->plan().torso) {
    torso_.push_back(MakeStep(layer));
  }
  for (const LayerPlan& layer : network->plan().output) {
    output_.push_back(MakeStep(layer));
  }
  for (const LayerPlan& layer : network->plan().value) {
    value_.push_back(MakeStep(layer));
  }
}

NetworkTape::Step NetworkTape::MakeStep(const LayerPlan& layer) const {
  const FlatParameters& parameters = network_->parameters();
  const size_t index = static_cast<size_t>(layer.weight);
  Step step;
  step.layer = &layer;
  step.weight = parameters.value_views()[index];
  step.bias = parameters.value_views()[index + 1];
  step.weight_gradient = parameters.gradient_views()[index];
  step.bias_gradient = parameters.gradient_views()[index + 1];
  if (layer.kind == LayerPlan::Kind::kDense) {
    step.weight_transposed = step.weight.t();
  }
  const auto options = step.weight.options();
  step.output = torch::empty({0}, options);
  step.activation_gradient = torch::empty({0}, options);
  step.input_gradient = torch::empty({0}, options);
  return step;
}

torch::Tensor NetworkTape::Run(Step* step, const torch::Tensor& input) {
  const LayerPlan& layer = *step->layer;
  if (layer.kind == LayerPlan::Kind::kConv) {
    step->input = input;
    step->output = at::conv2d(input, step->weight, step->bias, layer.stride, layer.padding);
  } else {
    step->input = input.dim() == 2 ? input : input.reshape({input.size(0), -1});
    Fit(&step->output, input.size(0));
    at::addmm_out(step->output, step->bias, step->input, step->weight_transposed);
  }
  if (NeedsInput(layer.activation)) {
    step->before = step->output;
    step->output = layer.activation == Activation::kGelu ? at::gelu(step->before) : at::silu(step->before);
  } else {
    ActivateInPlace(layer.activation, step->output);
  }
  return step->output;
}

const torch::Tensor& NetworkTape::Forward(const torch::Tensor& observations) {
  torch::NoGradGuard no_grad;
  torch::Tensor features = network_->Enter(observations);
  for (Step& step : torso_) {
    features = Run(&step, features);
  }
  result_ = features;
  for (Step& step : output_) {
    result_ = Run(&step, result_);
  }
  if (!value_.empty()) {
    torch::Tensor value = features;
    for (Step& step : value_) {
      value = Run(&step, value);
    }
    result_ = (result_ - result_.mean(1, /*keepdim=*/true)).add_(value);
  }
  return result_;
}

torch::Tensor NetworkTape::RunBack(Step* step, torch::Tensor gradient, bool wants_input_gradient) {
  const LayerPlan& layer = *step->layer;
  const int64_t rows = gradient.size(0);
  const torch::Tensor output = FirstRows(step->output, rows);
  if (output.dim() != gradient.dim()) {
    gradient = gradient.reshape(output.sizes());  // A dense layer flattened this layer's output.
  }
  const torch::Tensor before = step->before.defined() ? FirstRows(step->before, rows) : step->before;
  Fit(&step->activation_gradient, rows);
  Fit(&step->input_gradient, rows);
  gradient = ActivationBackward(layer.activation, gradient, before, output, step->activation_gradient);
  const torch::Tensor input = FirstRows(step->input, rows);
  if (layer.kind == LayerPlan::Kind::kConv) {
    auto [input_gradient, weight_gradient, bias_gradient] = at::convolution_backward(
        gradient, input, step->weight, step->bias.sizes(), {layer.stride, layer.stride}, {layer.padding, layer.padding},
        {1, 1}, /*transposed=*/false, {0, 0}, /*groups=*/1, std::array<bool, 3>{wants_input_gradient, true, true});
    step->weight_gradient.copy_(weight_gradient);
    step->bias_gradient.copy_(bias_gradient);
    return input_gradient;
  }
  at::mm_out(step->weight_gradient, gradient.t(), input);
  at::sum_out(step->bias_gradient, gradient, {0});
  if (!wants_input_gradient) {
    return torch::Tensor();
  }
  return at::mm_out(step->input_gradient, gradient, step->weight);
}

torch::Tensor NetworkTape::RunBack(std::vector<Step>* steps, torch::Tensor gradient, bool wants_input_gradient) {
  for (size_t i = steps->size(); i-- > 0;) {
    gradient = RunBack(&(*steps)[i], gradient, wants_input_gradient || i > 0);
  }
  return gradient;
}

void NetworkTape::Backward(const torch::Tensor& output_gradients) {
  torch::NoGradGuard no_grad;
  const bool has_torso = !torso_.empty();
  torch::Tensor gradient;
  if (value_.empty()) {
    gradient = RunBack(&output_, output_gradients, has_torso);
  } else {
    gradient = RunBack(&output_, output_gradients - output_gradients.mean(1, /*keepdim=*/true), has_torso);
    const torch::Tensor value = RunBack(&value_, output_gradients.sum(1, /*keepdim=*/true), has_torso);
    if (has_torso) {
      gradient = gradient + value;
    }
  }
  RunBack(&torso_, gradient, /*wants_input_gradient=*/false);
}

}  // namespace waggle
