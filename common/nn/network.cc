#include "common/nn/network.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>

#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/nn/initialize.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

using torch::Tensor;

// The first layer's input: choices unchanged, bytes scaled to [0, 1], others of the network's type, as vectors.
Tensor Enter(const EncoderPlan& encoder, const Tensor& input, torch::ScalarType dtype) {
  if (!encoder.layers.empty() && !encoder.layers[0].num_values.empty()) {
    return input;
  }
  const Tensor rows = encoder.array.shape.empty() ? input.unsqueeze(-1) : input;
  if (rows.scalar_type() == dtype) {
    return rows;
  }
  return rows.scalar_type() == torch::kUInt8 ? rows.to(dtype).mul_(1.0 / 255) : rows.to(dtype);
}

Tensor Joined(const TrunkPlan& trunk, std::vector<Tensor> parts) {
  int64_t dimensions = 0;
  for (const Tensor& part : parts) {
    dimensions = std::max(dimensions, part.dim());
  }
  std::vector<int64_t> lead;
  for (const Tensor& part : parts) {
    if (part.dim() == dimensions) {
      lead = part.sizes().slice(0, static_cast<size_t>(dimensions - 1)).vec();
    }
  }
  for (Tensor& part : parts) {
    if (part.dim() < dimensions) {  // Values that members share beside their own.
      std::vector<int64_t> shape = lead;
      shape.push_back(part.size(-1));
      part = part.expand(shape);
    }
  }
  if (!trunk.sum) {
    return torch::cat(parts, -1);
  }
  Tensor sum = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    sum = sum + parts[i];
  }
  return sum;
}

// A normalised observation beyond it is an outlier.
constexpr double kNormalizedBound = 10;

void CheckState(const NetworkPlan& plan, const Tensor& state) {
  TORCH_CHECK(state.defined(), "the network ", plan.name, " has a core, and got no state");
  TORCH_CHECK(state.dim() == 2 && state.size(0) > 0 && state.size(1) == plan.state_size, "the network ", plan.name,
              " got a state of the shape ", state.sizes(), "; wanted [rows, ", plan.state_size, "]");
}

// `count` is the total over all steps.
void CheckSteps(const NetworkPlan& plan, int64_t count, const Tensor& first, int64_t rows) {
  TORCH_CHECK(count > 0 && count % rows == 0, "the network ", plan.name, " got the states of ", rows, " rows and ",
              count, " observations; wanted one a row, or that many in each of several steps");
  TORCH_CHECK(!first.defined() || first.numel() == count, "the network ", plan.name, " got ", count,
              " observations, and said of ", first.numel(), " whether they are an episode's first");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> Network::Create(NetworkPlan plan, torch::Device device, uint64_t seed,
                                                         torch::ScalarType dtype, bool learns) {
  WAGGLE_ASSIGN_OR_RETURN(FlatParameters parameters, FlatParameters::Create(plan.parameters, device, dtype, learns));
  return CatchTorch("initialising a network", [&] {
    std::unique_ptr<Network> network(new Network(std::move(plan), std::move(parameters), learns));
    network->Initialize(seed);
    return network;
  });
}

Network::Network(NetworkPlan plan, FlatParameters parameters, bool learns)
    : plan_(std::move(plan)), parameters_(std::move(parameters)) {
  for (const NormalizerPlan& normalizer : plan_.normalizers) {
    normalizers_.resize(std::max(normalizers_.size(), static_cast<size_t>(normalizer.leaf) + 1));
    normalizers_[static_cast<size_t>(normalizer.leaf)] = &normalizer;
  }
  const auto stack = [&](const std::vector<LayerPlan>& layers) {
    return LayerStack(layers, plan_.members, learns, &parameters_);
  };
  for (const TrunkPlan& planned : plan_.trunks) {
    Trunk trunk;
    for (const EncoderPlan& encoder : planned.encoders) {
      trunk.encoders.push_back(stack(encoder.layers));
    }
    trunk.torso = stack(planned.torso);
    for (const CorePlan& core : planned.cores) {
      trunk.cores.emplace_back(core, learns, &parameters_);
    }
    for (const EncoderPlan& multiplier : planned.multipliers) {
      trunk.multipliers.push_back(stack(multiplier.layers));
    }
    trunks_.push_back(std::move(trunk));
  }
  for (const HeadPlan& planned : plan_.heads) {
    Head head;
    head.layers = stack(planned.layers);
    head.value = stack(planned.value);
    if (planned.free_log_std >= 0) {
      head.log_std = learns ? parameters_.AddLeaf(planned.free_log_std)
                            : parameters_.value_views()[static_cast<size_t>(planned.free_log_std)];
    }
    heads_.push_back(std::move(head));
  }
  ForEachLayer(plan_,
               [this](const LayerPlan& layer) { noisy_ = noisy_ || layer.kind == LayerPlan::Kind::kNoisyDense; });
}

template <class Visit>
void Network::ForEachStack(const Visit& visit) const {
  for (const Trunk& trunk : trunks_) {
    for (const LayerStack& encoder : trunk.encoders) {
      visit(encoder);
    }
    visit(trunk.torso);
    for (const LayerStack& multiplier : trunk.multipliers) {
      visit(multiplier);
    }
  }
  for (const Head& head : heads_) {
    visit(head.layers);
    visit(head.value);
  }
}

void Network::SetNoise(const DrawNormal& draw) const {
  ForEachStack([&draw](const LayerStack& stack) { stack.SetNoise(draw); });
}

void Network::FollowBatch() const {
  ForEachStack([](const LayerStack& stack) { stack.FollowBatch(); });
}

void Network::Initialize(uint64_t seed) {
  torch::NoGradGuard no_grad;
  for (const NormalizerPlan& normalizer : plan_.normalizers) {
    Tensor deviation = parameters_.value_views()[static_cast<size_t>(normalizer.deviation)];
    deviation.fill_(1);
  }
  for (int64_t member = 0; member < plan_.members.value_or(1); ++member) {
    const uint64_t own = member == 0 ? seed : Rng::Split(seed, "member", static_cast<uint64_t>(member)).Next();
    torch::Generator generator = at::make_generator<at::CPUGeneratorImpl>(own);
    const auto view = [&](int64_t index) {
      const Tensor& all = parameters_.value_views()[static_cast<size_t>(index)];
      return plan_.members.has_value() ? all.select(0, member) : all;
    };
    ForEachLayer(plan_, [&](const LayerPlan& layer) {
      if (layer.weight < 0) {
        return;
      }
      Tensor weight = view(layer.weight);
      const InitialValues values = waggle::Initialize(layer, weight.sizes().vec(), generator);
      weight.copy_(values.weight);
      if (values.bias.defined()) {
        view(layer.weight + 1).copy_(values.bias);
      }
      if (layer.statistics >= 0) {
        view(layer.statistics + 1).fill_(1);
      }
      if (layer.kind == LayerPlan::Kind::kNoisyDense) {
        const double deviation = layer.noise / std::sqrt(static_cast<double>(weight.size(1)));
        view(layer.weight + 2).fill_(deviation);
        view(layer.weight + 3).fill_(deviation);
      }
    });
    for (const TrunkPlan& trunk : plan_.trunks) {
      for (int64_t i = 0; !trunk.cores.empty() && i < 4; ++i) {
        const CorePlan& core = trunk.cores[static_cast<size_t>(member)];
        Tensor values = parameters_.value_views()[static_cast<size_t>(core.weight + i)];
        values.copy_(InitializeCore(core, values.sizes().vec(), generator));
      }
    }
    for (const auto& [index, value] : plan_.initial_log_std) {
      view(index).fill_(value);
    }
  }
}

Tensor Network::Normalized(size_t leaf, const Tensor& input) const {
  if (leaf >= normalizers_.size() || normalizers_[leaf] == nullptr) {
    return input;
  }
  const Tensor& mean = parameters_.value_views()[static_cast<size_t>(normalizers_[leaf]->mean)];
  const Tensor& deviation = parameters_.value_views()[static_cast<size_t>(normalizers_[leaf]->deviation)];
  return ((input.to(mean.scalar_type()) - mean) / deviation).clamp(-kNormalizedBound, kNormalizedBound);
}

Tensor Network::Features(size_t index, const std::vector<Tensor>& leaves, const Tensor& action,
                         const std::vector<Tensor>& extra, ForwardPass pass) const {
  const TrunkPlan& plan = plan_.trunks[index];
  const Trunk& trunk = trunks_[index];
  std::vector<Tensor> parts;
  parts.reserve(plan.encoders.size());
  for (size_t i = 0; i < plan.encoders.size(); ++i) {
    const EncoderPlan& encoder = plan.encoders[i];
    const Tensor input = encoder.leaf == -1 ? action
                         : encoder.leaf < 0
                             ? extra[static_cast<size_t>(-2 - encoder.leaf)]
                             : Normalized(static_cast<size_t>(encoder.leaf), leaves[static_cast<size_t>(encoder.leaf)]);
    const torch::ScalarType dtype = parameters_.values().scalar_type();
    parts.push_back(trunk.encoders[i](Enter(encoder, input, dtype), pass));
  }
  return trunk.torso(parts.size() == 1 ? parts[0] : Joined(plan, std::move(parts)), pass);
}

Tensor Network::Multiplied(size_t index, Tensor features, const std::vector<Tensor>& extra, ForwardPass pass) const {
  const TrunkPlan& plan = plan_.trunks[index];
  for (size_t i = 0; i < plan.multipliers.size(); ++i) {
    const Tensor& input = extra[static_cast<size_t>(-2 - plan.multipliers[i].leaf)];
    const bool samples = input.dim() == 3;
    TORCH_CHECK(!samples || !plan_.members.has_value(), "the network ", plan_.name,
                " has members, and takes no samples of the input ", plan.multipliers[i].name);
    const Tensor rows = samples ? input.flatten(0, 1) : input;
    const Tensor factors =
        trunks_[index].multipliers[i](Enter(plan.multipliers[i], rows, parameters_.values().scalar_type()), pass);
    if (samples && features.size(0) != rows.size(0)) {
      features = features.repeat_interleave(input.size(1), 0);
    }
    features = features * factors;
  }
  return features;
}

Tensor Network::Dueling(const HeadPlan& plan, const Tensor& advantage, const Tensor& value) {
  std::vector<int64_t> shape = advantage.sizes().vec();
  shape.back() = -1;
  shape.push_back(plan.size);  // [rows, choices, size].
  const Tensor advantages = advantage.reshape(shape);
  return (advantages - advantages.mean(-2, /*keepdim=*/true) + value.unsqueeze(-2)).reshape(advantage.sizes());
}

std::vector<Network::HeadOutput> Network::Heads(const std::vector<Tensor>& features, ForwardPass pass) const {
  std::vector<HeadOutput> outputs;
  outputs.reserve(heads_.size());
  for (size_t i = 0; i < heads_.size(); ++i) {
    const Tensor& input = features[plan_.heads[i].trunk];
    HeadOutput output;
    output.values = heads_[i].layers(input, pass);
    if (!heads_[i].value.empty()) {
      output.values = Dueling(plan_.heads[i], output.values, heads_[i].value(input, pass));
    }
    output.log_std = heads_[i].log_std;
    outputs.push_back(std::move(output));
  }
  return outputs;
}

std::vector<Network::HeadOutput> Network::Forward(const std::vector<Tensor>& leaves, const Tensor& action,
                                                  const std::vector<Tensor>& extra, ForwardPass pass) const {
  TORCH_CHECK(plan_.state_size == 0, "the network ", plan_.name, " has a core: it is unrolled, from a state");
  std::vector<Tensor> features;
  features.reserve(trunks_.size());
  for (size_t i = 0; i < trunks_.size(); ++i) {
    features.push_back(Multiplied(i, Features(i, leaves, action, extra, pass), extra, pass));
  }
  return Heads(features, pass);
}

Network::Unrolled Network::Unroll(const std::vector<Tensor>& leaves, const Tensor& first, const Tensor& state,
                                  const Tensor& action, const std::vector<Tensor>& extra, ForwardPass pass) const {
  if (plan_.state_size == 0) {
    return {Forward(leaves, action, extra, pass), state};
  }
  CheckState(plan_, state);
  const Tensor before = state.to(parameters_.values().scalar_type());
  std::vector<Tensor> features;
  std::vector<Tensor> after;
  for (size_t i = 0; i < trunks_.size(); ++i) {
    const Tensor own = Features(i, leaves, action, extra, pass);
    CheckSteps(plan_, own.size(-2), first, before.size(0));
    const Tensor begins = first.defined() ? first.reshape({-1, before.size(0)}) : first;
    std::vector<Tensor> outputs;
    for (size_t member = 0; member < trunks_[i].cores.size(); ++member) {
      const CorePlan& core = plan_.trunks[i].cores[member];
      const Tensor remembered = before.narrow(1, core.state, core.state_size());
      const Tensor input = own.dim() == 3 ? own.select(0, static_cast<int64_t>(member)) : own;
      const RecurrentCore& unroll = trunks_[i].cores[member];
      RecurrentCore::Unrolled unrolled = pass == ForwardPass::kByAutograd ? unroll.ByAutograd(input, begins, remembered)
                                                                          : unroll(input, begins, remembered);
      outputs.push_back(std::move(unrolled.outputs));
      after.push_back(std::move(unrolled.state));
    }
    features.push_back(Multiplied(i, plan_.members.has_value() ? torch::stack(outputs) : outputs[0], extra, pass));
  }
  return {Heads(features, pass), torch::cat(after, 1)};
}

}  // namespace waggle
