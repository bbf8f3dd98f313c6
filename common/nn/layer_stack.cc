#include "common/nn/layer_stack.h"

#include <utility>

#include "common/nn/activations.h"

namespace waggle {
namespace {

using torch::Tensor;

bool InChain(const LayerPlan& layer) {
  return layer.kind == LayerPlan::Kind::kDense || layer.kind == LayerPlan::Kind::kConv;
}

// Each element's choice plus the number of choices of earlier elements: int64 [rows, elements].
Tensor Positions(const Tensor& choices, const std::vector<int64_t>& num_values) {
  Tensor positions = choices.reshape({choices.size(0), -1});
  if (num_values.size() == 1) {
    return positions;
  }
  std::vector<int64_t> offsets = {0};
  for (size_t i = 0; i + 1 < num_values.size(); ++i) {
    offsets.push_back(offsets.back() + num_values[i]);
  }
  return positions + torch::tensor(offsets, positions.options());
}

// x Wᵀ + b for [rows, in], or for [members, rows, in] or a shared [rows, in] with members' weights.
Tensor Dense(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return weight.dim() == 2 ? torch::linear(x, weight, bias)
                           : torch::matmul(x, weight.transpose(-1, -2)) + bias.unsqueeze(1);
}

// The noise of one side of a layer: f(x) = sgn(x) √|x| of normal numbers.
Tensor SideNoise(const Tensor& like, const DrawNormal& draw) {
  const Tensor normal = draw(like);
  return normal.sign() * normal.abs().sqrt();
}

// The noise of each row of the features, which may be several samples of each of its own rows.
Tensor ForRows(const Tensor& noise, const Tensor& features) {
  const int64_t rows = noise.size(-2);
  return rows == 1 || rows == features.size(-2) ? noise : noise.repeat_interleave(features.size(-2) / rows, -2);
}

int64_t RankOf(const std::vector<int64_t>& shape) {
  return static_cast<int64_t>(shape.size());
}

}  // namespace

LayerStack::LayerStack(const std::vector<LayerPlan>& layers, std::optional<int64_t> members, bool learns,
                       FlatParameters* parameters)
    : members_(members), dtype_(parameters->values().scalar_type()) {
  const auto parameter = [&](int64_t index) {
    return learns ? parameters->AddLeaf(index) : parameters->value_views()[static_cast<size_t>(index)];
  };
  for (size_t i = 0; i < layers.size();) {
    if (InChain(layers[i])) {
      std::vector<const LayerPlan*> chain;
      for (; i < layers.size() && InChain(layers[i]); ++i) {
        chain.push_back(&layers[i]);
      }
      steps_.emplace_back(Chain(chain, members, learns, parameters));
      continue;
    }
    Single single;
    single.plan = layers[i];
    if (single.plan.weight >= 0) {
      single.weight = parameter(single.plan.weight);
    }
    const bool noisy = single.plan.kind == LayerPlan::Kind::kNoisyDense;
    if (noisy || single.plan.kind == LayerPlan::Kind::kLayerNorm) {
      single.bias = parameter(single.plan.weight + 1);
    }
    if (noisy) {
      single.weight_deviation = parameter(single.plan.weight + 2);
      single.bias_deviation = parameter(single.plan.weight + 3);
      single.noise = std::make_shared<LayerNoise>();
    }
    if (!single.plan.inner.empty()) {
      single.inner = std::make_shared<const LayerStack>(single.plan.inner, members, learns, parameters);
    }
    steps_.emplace_back(std::move(single));
    ++i;
  }
}

Tensor LayerStack::operator()(Tensor features, bool by_autograd) const {
  for (const auto& step : steps_) {
    if (const auto* chain = std::get_if<Chain>(&step)) {
      features = by_autograd ? chain->ByAutograd(features) : (*chain)(features);
    } else {
      features = Run(std::get<Single>(step), features, by_autograd);
    }
  }
  return features;
}

Tensor LayerStack::Run(const Single& layer, const Tensor& features, bool by_autograd) const {
  const LayerPlan& plan = layer.plan;
  const int64_t rank = RankOf(plan.output_shape);
  switch (plan.kind) {
    case LayerPlan::Kind::kFlatten:
      return features.flatten(features.dim() - plan.input_rank, -1);
    case LayerPlan::Kind::kLayerNorm: {
      const Tensor normal = torch::layer_norm(features, plan.output_shape);
      // [members, …] becomes [members, 1, …], for all rows.
      const auto for_rows = [&](const Tensor& values) { return members_.has_value() ? values.unsqueeze(1) : values; };
      const Tensor own = members_.has_value() && features.dim() == rank + 1 ? normal.unsqueeze(0) : normal;
      return Activate(plan.activation, torch::addcmul(for_rows(layer.bias), own, for_rows(layer.weight)));
    }
    case LayerPlan::Kind::kResidual:
      return features + (*layer.inner)(features, by_autograd);
    case LayerPlan::Kind::kEmbedding: {
      const Tensor positions = Positions(features, plan.num_values);
      const Tensor vectors = layer.weight.index_select(members_.has_value() ? 1 : 0, positions.reshape({-1}));
      return members_.has_value() ? vectors.reshape({*members_, positions.size(0), -1})
                                  : vectors.reshape({positions.size(0), -1});
    }
    case LayerPlan::Kind::kOneHot: {
      const Tensor positions = Positions(features, plan.num_values);
      return torch::zeros({positions.size(0), plan.output_shape[0]}, positions.options().dtype(dtype_))
          .scatter_(1, positions, 1);
    }
    case LayerPlan::Kind::kNoisyDense: {
      Tensor output = Dense(features, layer.weight, layer.bias);
      if (layer.noise->inputs.defined()) {
        const Tensor noisy = features * ForRows(layer.noise->inputs, features);
        output = output +
                 Dense(noisy, layer.weight_deviation, layer.bias_deviation) * ForRows(layer.noise->outputs, features);
      }
      return Activate(plan.activation, output);
    }
    case LayerPlan::Kind::kDense:
    case LayerPlan::Kind::kConv:
      break;
  }
  TORCH_CHECK(false, "a layer of an unknown kind");
  return features;
}

void LayerStack::SetNoise(const DrawNormal& draw) const {
  const torch::NoGradGuard no_grad;
  for (const auto& step : steps_) {
    const auto* const layer = std::get_if<Single>(&step);
    if (layer == nullptr || layer->noise == nullptr) {
      continue;
    }
    if (draw == nullptr) {
      *layer->noise = {};
      continue;
    }
    const Tensor weight = layer->weight.detach();
    const Tensor inputs = weight.select(-2, 0);   // [inputs] or [members, inputs].
    const Tensor outputs = weight.select(-1, 0);  // Likewise.
    const auto side = [&](const Tensor& like) {
      const Tensor noise = SideNoise(like, draw);
      return noise.dim() == like.dim() ? noise.unsqueeze(-2) : noise;
    };
    *layer->noise = {side(inputs), side(outputs)};
  }
}

}  // namespace waggle
