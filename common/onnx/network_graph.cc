#include "common/onnx/network_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace waggle {
namespace {

// As in common/nn/network.cc.
constexpr double kNormalizedBound = 10;

// The last dimension as [choices, size].
std::vector<int64_t> ByChoice(const HeadPlan& head, const std::vector<int64_t>& shape) {
  std::vector<int64_t> split = shape;
  split.back() = head.outputs / head.size;
  split.push_back(head.size);
  return split;
}

// As torch::linspace in float32: from both ends to the middle.
std::vector<float> AtomValues(const HeadPlan& head) {
  const auto low = static_cast<float>(head.low);
  const auto high = static_cast<float>(head.high);
  const float step = head.size > 1 ? (high - low) / static_cast<float>(head.size - 1) : 0;
  std::vector<float> values;
  for (int64_t i = 0; i < head.size; ++i) {
    values.push_back(i < head.size / 2 ? low + step * static_cast<float>(i)
                                       : high - step * static_cast<float>(head.size - 1 - i));
  }
  return values;
}

}  // namespace

NetworkGraph::NetworkGraph(const NetworkPlan* plan, bool is_alone, const SavedParameters* weights, OnnxGraph* graph)
    : plan_(*plan),
      graph_(graph),
      layers_(plan, absl::StrCat(plan->name, "."), is_alone ? "" : absl::StrCat(plan->name, "."), weights, graph) {}

const HeadPlan& NetworkGraph::Head(const std::string& name) const {
  const HeadPlan* const head = plan_.FindHead(name);
  WAGGLE_CHECK(head != nullptr, "an exported policy asks for a head that its network does not have");
  return *head;
}

int64_t NetworkGraph::StateSize(const std::string& head) const {
  int64_t size = 0;
  for (const CorePlan& core : plan_.trunks[Head(head).trunk].cores) {
    size += core.state_size();
  }
  return size;
}

OnnxValue NetworkGraph::Output::Normalized(size_t leaf, const OnnxValue& input) {
  for (const NormalizerPlan& normalizer : network_->plan_.normalizers) {
    if (static_cast<size_t>(normalizer.leaf) == leaf) {
      const OnnxValue centered =
          graph().Sub(graph().Cast(input, DType::kFloat32), network_->layers_.Parameter(normalizer.mean));
      return graph().Clip(graph().Div(centered, network_->layers_.Parameter(normalizer.deviation)),
                          graph().Float(-kNormalizedBound), graph().Float(kNormalizedBound));
    }
  }
  return input;
}

GraphRows NetworkGraph::Output::Encoded(const EncoderPlan& encoder) {
  const OnnxValue input = encoder.leaf == -1  ? inputs_.action
                          : encoder.leaf < -1 ? inputs_.extra[static_cast<size_t>(-2 - encoder.leaf)]
                                              : Normalized(static_cast<size_t>(encoder.leaf),
                                                           inputs_.observation[static_cast<size_t>(encoder.leaf)]);
  if (!encoder.layers.empty() && !encoder.layers[0].num_values.empty()) {
    return network_->layers_.Layers(encoder.layers, {input});
  }
  OnnxValue rows = encoder.array.shape.empty() ? graph().Reshape(input, {kRows, 1}) : input;
  if (rows.dtype == DType::kUint8) {
    rows = graph().Mul(graph().Cast(rows, DType::kFloat32), graph().Float(1.0 / 255));
  }
  return network_->layers_.Layers(encoder.layers, {graph().Cast(rows, DType::kFloat32)});
}

GraphRows NetworkGraph::Output::Joined(const TrunkPlan& trunk, const std::vector<GraphRows>& parts) {
  const bool by_member = std::any_of(parts.begin(), parts.end(), [](const GraphRows& part) { return part.by_member; });
  std::vector<OnnxValue> values;
  for (const GraphRows& part : parts) {
    values.push_back(part.value);
    if (by_member && !part.by_member) {  // Values that members share beside their own.
      OnnxValue all = graph().Reshape(part.value, {1, kRows, part.value.shape.back()});
      std::vector<float> zeros(static_cast<size_t>(*network_->plan_.members), 0);
      values.back() = graph().Add(all, graph().Floats(zeros, {*network_->plan_.members, 1, 1}));
    }
  }
  if (!trunk.sum) {
    return {graph().Concat(values, -1), by_member};
  }
  OnnxValue sum = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    sum = graph().Add(sum, values[i]);
  }
  return {sum, by_member};
}

GraphRows NetworkGraph::Output::Multiplied(const TrunkPlan& trunk, GraphRows features) {
  for (const EncoderPlan& multiplier : trunk.multipliers) {
    const OnnxValue& input = inputs_.extra[static_cast<size_t>(-2 - multiplier.leaf)];
    const GraphRows factors = network_->layers_.Layers(multiplier.layers, {input});
    const int64_t samples = input.shape[0];
    if (samples == kRows) {
      features = {graph().Mul(features.value, factors.value), features.by_member || factors.by_member};
      continue;
    }
    const int64_t width = features.value.shape.back();
    const OnnxValue all = graph().Mul(graph().Reshape(features.value, {kRows, 1, width}), factors.value);
    features = {graph().Reshape(all, {kRows, width})};
  }
  return features;
}

GraphRows NetworkGraph::Output::Features(size_t index) {
  const auto found = features_.find(index);
  if (found != features_.end()) {
    return found->second;
  }
  const TrunkPlan& trunk = network_->plan_.trunks[index];
  std::vector<GraphRows> parts;
  for (const EncoderPlan& encoder : trunk.encoders) {
    parts.push_back(Encoded(encoder));
  }
  GraphRows features = network_->layers_.Layers(trunk.torso, parts.size() == 1 ? parts[0] : Joined(trunk, parts));
  if (!trunk.cores.empty()) {
    WAGGLE_CHECK(trunk.cores.size() == 1 && state_.name.empty(), "an exported network has one core that acts");
    const LayerGraph::CoreStep step = network_->layers_.Core(trunk.cores[0], features.value, inputs_.state);
    features = {step.output};
    state_ = step.state;
  }
  features = Multiplied(trunk, std::move(features));
  features_[index] = features;
  return features;
}

OnnxValue NetworkGraph::Output::Values(const HeadPlan& head) {
  const GraphRows features = Features(head.trunk);
  const OnnxValue values = network_->layers_.Layers(head.layers, features).value;
  if (head.value.empty()) {
    return values;
  }
  // A dueling head: [rows, choices, size].
  const OnnxValue advantages = graph().Reshape(values, ByChoice(head, values.shape));
  OnnxValue value = network_->layers_.Layers(head.value, features).value;
  std::vector<int64_t> shape = value.shape;
  shape.insert(shape.end() - 1, 1);
  value = graph().Reshape(value, std::move(shape));
  const OnnxValue centered = graph().Sub(advantages, graph().Reduce("ReduceMean", advantages, -2, /*keep=*/true));
  return graph().Reshape(graph().Add(centered, value), values.shape);
}

OnnxValue NetworkGraph::Output::q(const std::string& name) {
  const HeadPlan& head = network_->Head(name);
  OnnxValue values = Values(head);
  if (head.kind == HeadKind::kCategoricalQ) {
    const OnnxValue shares = graph().Soft("Softmax", graph().Reshape(values, ByChoice(head, values.shape)));
    const OnnxValue atoms = graph().Floats(AtomValues(head), {head.size});
    values = graph().Reduce("ReduceSum", graph().Mul(shares, atoms), -1);
  } else if (head.kind == HeadKind::kQuantileQ) {
    values = graph().Reduce("ReduceMean", graph().Reshape(values, ByChoice(head, values.shape)), -1);
  }
  if (!mask().has_value()) {
    return values;
  }
  const OnnxValue legal = LegalChoices(&graph(), *mask(), {values.shape.back()});
  return graph().Where(legal, values, graph().Float(kIllegalValue));
}

OnnxValue NetworkGraph::Output::value(const std::string& name) {
  const OnnxValue values = Values(network_->Head(name));
  return graph().Reduce("ReduceMean", values, -1);
}

OnnxValue NetworkGraph::Output::vector(const std::string& name) {
  return Values(network_->Head(name));
}

PolicyValues NetworkGraph::Output::policy(const std::string& name) {
  const HeadPlan& head = network_->Head(name);
  const JointAction& action = network_->plan_.action;
  const OnnxValue values = Values(head);
  const int64_t width = values.shape.back();
  PolicyValues policy;
  int64_t first_real = 0;
  if (head.kind == HeadKind::kCategorical || head.kind == HeadKind::kMixed) {
    first_real = action.TotalChoices();
    std::optional<OnnxValue> legal;
    if (mask().has_value()) {
      legal = LegalChoices(&graph(), *mask(), action.num_values);
    }
    policy.logits = LogProbabilities(&graph(), graph().Slice(values, -1, 0, first_real), action.num_values, legal);
    policy.choices = BestChoices(&graph(), *policy.logits, action.num_values);
  }
  if (head.kind == HeadKind::kDeterministic) {
    policy.reals = graph().Unary("Tanh", values);
  } else if (head.kind == HeadKind::kNormal || head.kind == HeadKind::kMixed || head.kind == HeadKind::kTanhNormal) {
    policy.mean = graph().Slice(values, -1, first_real, action.num_reals);
    OnnxValue log_std;
    if (head.free_log_std >= 0) {
      log_std = network_->layers_.Parameter(head.free_log_std);
      if (network_->plan_.members.has_value()) {
        log_std = graph().Reshape(log_std, {*network_->plan_.members, 1, action.num_reals});
      }
    } else {
      log_std = graph().Slice(values, -1, width - action.num_reals, action.num_reals);
    }
    if (head.kind == HeadKind::kTanhNormal) {
      log_std = graph().Clip(log_std, graph().Float(head.min_log_std), graph().Float(head.max_log_std));
    }
    const OnnxValue stddev = graph().Unary("Exp", log_std);
    policy.stddev = head.free_log_std >= 0 ? graph().ExpandedLike(stddev, *policy.mean) : stddev;
    policy.reals = head.kind == HeadKind::kTanhNormal ? graph().Unary("Tanh", *policy.mean) : *policy.mean;
  }
  return policy;
}

const std::optional<OnnxValue>& NetworkGraph::Output::mask() {
  if (has_mask_) {
    return mask_;
  }
  has_mask_ = true;
  const std::vector<JointAction::Part>& parts = network_->plan_.action.parts;
  const auto masked =
      std::find_if(parts.begin(), parts.end(), [](const JointAction::Part& part) { return part.mask >= 0; });
  if (masked == parts.end()) {
    return mask_;
  }
  const OnnxValue some = graph().Slice(inputs_.observation[static_cast<size_t>(masked->mask)], -1, 0, 1);
  std::vector<OnnxValue> masks;
  for (const JointAction::Part& part : parts) {
    if (part.mask >= 0) {
      masks.push_back(inputs_.observation[static_cast<size_t>(part.mask)]);
    } else if (part.choices > 0) {  // All are legal.
      const std::vector<float> zeros(static_cast<size_t>(part.choices), 0);
      const OnnxValue every = graph().Equal(graph().Floats(zeros, {1, part.choices}), graph().Float(0));
      OnnxValue all = graph().ExpandedLike(every, some);
      all.shape = {kRows, part.choices};
      masks.push_back(all);
    }
  }
  mask_ = graph().Concat(masks, -1);
  return mask_;
}

}  // namespace waggle
