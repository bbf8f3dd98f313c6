#include "common/nn/layer_stack.h"

#include <utility>

#include "common/nn/activations.h"

namespace waggle {
namespace {

using torch::Tensor;

constexpr double kBatchNormEpsilon = 1e-3;
// Bounds of batch renormalisation (arXiv 1702.03275, section 4).
constexpr double kMaxScale = 3;
constexpr double kMaxShift = 5;

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
    const bool batch_norm = single.plan.kind == LayerPlan::Kind::kBatchNorm;
    if (noisy || batch_norm || single.plan.kind == LayerPlan::Kind::kLayerNorm) {
      single.bias = parameter(single.plan.weight + 1);
    }
    if (noisy) {
      single.weight_deviation = parameter(single.plan.weight + 2);
      single.bias_deviation = parameter(single.plan.weight + 3);
      single.noise = std::make_shared<LayerNoise>();
    }
    if (batch_norm) {
      const auto statistic = [&](int64_t number) {
        // With a version of its own: that of the parameters tells whether a step came between a pass and its gradient.
        return parameters->value_views()[static_cast<size_t>(single.plan.statistics + number)].variable_data();
      };
      single.mean = statistic(0);
      single.variance = statistic(1);
      single.batches = statistic(2);
      single.last = std::make_shared<BatchMoments>();
    }
    if (!single.plan.inner.empty()) {
      single.inner = std::make_shared<const LayerStack>(single.plan.inner, members, learns, parameters);
    }
    steps_.emplace_back(std::move(single));
    ++i;
  }
}

Tensor LayerStack::operator()(Tensor features, ForwardPass pass) const {
  for (const auto& step : steps_) {
    if (const auto* chain = std::get_if<Chain>(&step)) {
      features = pass == ForwardPass::kByAutograd ? chain->ByAutograd(features) : (*chain)(features);
    } else {
      features = Run(std::get<Single>(step), features, pass);
    }
  }
  return features;
}

Tensor LayerStack::BatchNorm(const Single& layer, const Tensor& features, bool training) const {
  const int64_t rank = RankOf(layer.plan.output_shape);
  const int64_t rows = members_.has_value() ? 1 : 0;  // The rows' dimension.
  const Tensor x = members_.has_value() && features.dim() == rank + 1 ? features.unsqueeze(0) : features;
  // [channels] or [members, channels] as factors of x.
  const auto for_rows = [&](const Tensor& values) {
    Tensor all = values.unsqueeze(rows);
    for (int64_t i = 1; i < rank; ++i) {
      all = all.unsqueeze(-1);
    }
    return all;
  };
  if (!training) {
    const Tensor scale = layer.weight * (layer.variance + kBatchNormEpsilon).rsqrt();
    return torch::addcmul(for_rows(layer.bias - layer.mean * scale), x, for_rows(scale));
  }
  std::vector<int64_t> all = {rows};  // All dimensions of a channel's numbers.
  for (int64_t i = rows + 2; i < x.dim(); ++i) {
    all.push_back(i);
  }
  const Tensor mean = x.mean(all, /*keepdim=*/true);
  const Tensor centered = x - mean;
  const Tensor variance = centered.square().mean(all, /*keepdim=*/true);
  const Tensor normal = centered * (variance + kBatchNormEpsilon).rsqrt();
  Tensor scale, shift;
  {
    const torch::NoGradGuard no_grad;
    const auto of_channels = [&](const Tensor& values) {
      std::vector<int64_t> shape = layer.mean.sizes().vec();
      shape[0] = members_.has_value() ? values.size(0) : shape[0];
      return values.detach().reshape(shape);
    };
    *layer.last = {of_channels(mean), of_channels(variance)};
    // Batch renormalisation: as if by the running statistics, within bounds (arXiv 1702.03275, algorithm 1).
    const Tensor deviation = (layer.variance + kBatchNormEpsilon).sqrt();
    const Tensor warm = layer.batches >= layer.plan.renorm_after;
    scale = torch::where(
        warm, ((layer.last->variance + kBatchNormEpsilon).sqrt() / deviation).clamp(1 / kMaxScale, kMaxScale),
        torch::ones_like(deviation));
    shift = torch::where(warm, ((layer.last->mean - layer.mean) / deviation).clamp(-kMaxShift, kMaxShift),
                         torch::zeros_like(deviation));
  }
  return torch::addcmul(for_rows(layer.bias + layer.weight * shift), normal, for_rows(layer.weight * scale));
}

Tensor LayerStack::Run(const Single& layer, const Tensor& features, ForwardPass pass) const {
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
    case LayerPlan::Kind::kBatchNorm:
      return Activate(plan.activation, BatchNorm(layer, features, pass == ForwardPass::kTraining));
    case LayerPlan::Kind::kResidual:
      return features + (*layer.inner)(features, pass);
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

void LayerStack::FollowBatch() const {
  const torch::NoGradGuard no_grad;
  for (const auto& step : steps_) {
    const auto* const layer = std::get_if<Single>(&step);
    if (layer == nullptr || layer->last == nullptr) {
      continue;
    }
    TORCH_CHECK(layer->last->mean.defined(), "a batch norm is to follow a batch, and there was no training pass");
    Tensor mean = layer->mean, variance = layer->variance, batches = layer->batches;
    // A batch that overflows is left out: the statistics would not be finite for ever.
    const Tensor finite = layer->last->mean.isfinite().all().logical_and(layer->last->variance.isfinite().all());
    const auto follow = [&](Tensor* statistic, const Tensor& batch) {
      statistic->copy_(
          torch::where(finite, statistic->lerp(batch.expand_as(*statistic), layer->plan.rate), *statistic));
    };
    follow(&mean, layer->last->mean);
    follow(&variance, layer->last->variance);
    batches.add_(finite);
    *layer->last = {};
  }
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
