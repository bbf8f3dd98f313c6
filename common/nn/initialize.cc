#include "common/nn/initialize.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace waggle {
namespace {

// Keeps the variance of a layer's output near its input's (the values of torch.nn.init).
double Gain(Activation activation) {
  switch (activation) {
    case Activation::kTanh:
      return 5.0 / 3.0;
    case Activation::kRelu:
    case Activation::kElu:
    case Activation::kGelu:
    case Activation::kSilu:
      return std::sqrt(2.0);
    case Activation::kLeakyRelu:
      return std::sqrt(2.0 / (1 + 0.01 * 0.01));
    case Activation::kNone:
    case Activation::kSigmoid:
      return 1;
  }
  return 1;
}

torch::Tensor Orthogonal(int64_t rows, int64_t columns, const torch::Generator& generator) {
  const bool wide = rows < columns;
  torch::Tensor normal = torch::empty({std::max(rows, columns), std::min(rows, columns)}, torch::kFloat64);
  normal.normal_(0, 1, generator);
  auto [q, r] = torch::linalg_qr(normal, "reduced");
  // The signs of R's diagonal make the draw uniform over orthogonal matrices.
  q = q * torch::sign(torch::diagonal(r));
  return wide ? q.t() : q;
}

}  // namespace

InitialValues Initialize(const LayerPlan& layer, const std::vector<int64_t>& weight_shape, torch::Generator generator) {
  torch::NoGradGuard no_grad;
  if (layer.kind == LayerPlan::Kind::kLayerNorm || layer.kind == LayerPlan::Kind::kBatchNorm) {
    return {torch::ones(weight_shape), torch::zeros(weight_shape)};
  }
  const bool embedding = layer.kind == LayerPlan::Kind::kEmbedding;
  if (embedding && layer.initialization == Initialization::kDefault) {
    return {torch::empty(weight_shape).normal_(0, 1, generator), torch::Tensor()};
  }
  const int64_t outputs = weight_shape[0];
  int64_t field = 1;
  for (size_t i = 2; i < weight_shape.size(); ++i) {
    field *= weight_shape[i];
  }
  const double fan_in = static_cast<double>(weight_shape[1] * field);
  const double fan_out = static_cast<double>(outputs * field);
  const double gain = layer.gain.value_or(Gain(layer.activation));
  InitialValues values{torch::zeros(weight_shape), embedding ? torch::Tensor() : torch::zeros({outputs})};
  switch (layer.initialization) {
    case Initialization::kDefault: {
      const double bound = 1 / std::sqrt(fan_in);
      values.weight.uniform_(-bound, bound, generator);
      values.bias.uniform_(-bound, bound, generator);
      break;
    }
    case Initialization::kXavierUniform: {
      const double bound = gain * std::sqrt(6 / (fan_in + fan_out));
      values.weight.uniform_(-bound, bound, generator);
      break;
    }
    case Initialization::kKaimingNormal:
      values.weight.normal_(0, gain / std::sqrt(fan_in), generator);
      break;
    case Initialization::kOrthogonal:
      values.weight.copy_((Orthogonal(outputs, weight_shape[1] * field, generator) * gain).reshape(weight_shape));
      break;
    case Initialization::kZeros:
      break;
  }
  return values;
}

torch::Tensor InitializeCore(const CorePlan& core, const std::vector<int64_t>& shape, torch::Generator generator) {
  torch::NoGradGuard no_grad;
  const double bound = 1 / std::sqrt(static_cast<double>(core.units));
  return torch::empty(shape).uniform_(-bound, bound, generator);
}

}  // namespace waggle
