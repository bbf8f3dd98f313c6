#include "common/rl/kit/net.h"

#include <algorithm>
#include <string>

#include "common/base/check.h"
#include "common/config/plan/head_kinds.h"

namespace waggle {
namespace {

using torch::Tensor;

// Value of illegal choices: below all others, and finite, so that sums and differences are.
constexpr double kIllegal = -1e9;

void CheckKind(const HeadPlan& head, HeadKind wanted) {
  TORCH_CHECK(head.kind == wanted, "the head ", head.name, " is of kind ", Name(head.kind), "; asked for ",
              Name(wanted));
}

// Checks that all inputs exist, because LibTorch's messages for missing ones are unreadable.
void CheckInputs(const NetworkPlan& plan, const Observations& observations, const Tensor& action,
                 const ExtraInputs& extra) {
  TORCH_CHECK(extra.size() == plan.extra.size(), "the network ", plan.name, " got ", extra.size(),
              " inputs of the algorithm's own; wanted ", plan.extra.size());
  TORCH_CHECK(action.defined() == plan.takes_action, "the network ", plan.name,
              plan.takes_action ? " takes an action, and got none" : " takes no action, and got one");
  for (const EncoderPlan& encoder : plan.trunks[0].encoders) {
    TORCH_CHECK(encoder.leaf < 0 || (encoder.leaf < static_cast<int64_t>(observations.size()) &&
                                     observations[static_cast<size_t>(encoder.leaf)].defined()),
                "the network ", plan.name, " got no ", encoder.array.DebugString());
  }
  for (const JointAction::Part& part : plan.action.parts) {
    TORCH_CHECK(part.mask < 0 || (part.mask < static_cast<int64_t>(observations.size()) &&
                                  observations[static_cast<size_t>(part.mask)].defined()),
                "the network ", plan.name, " got ", observations.size(),
                " observations; the mask of its action is number ", part.mask);
  }
}

// The joint action's mask, all true for leaves without one. Undefined if no leaf has a mask.
Tensor MaskOf(const JointAction& action, const Observations& observations) {
  const auto masked = std::find_if(action.parts.begin(), action.parts.end(),
                                   [](const JointAction::Part& part) { return part.mask >= 0; });
  if (masked == action.parts.end()) {
    return {};
  }
  const Tensor& some = observations[static_cast<size_t>(masked->mask)];
  std::vector<Tensor> masks;
  for (const JointAction::Part& part : action.parts) {
    if (part.mask >= 0) {
      masks.push_back(observations[static_cast<size_t>(part.mask)]);
    } else if (part.choices > 0) {
      std::vector<int64_t> shape = some.sizes().vec();
      shape.back() = part.choices;
      masks.push_back(torch::ones(shape, some.options()));
    }
  }
  return masks.size() == 1 ? masks[0] : torch::cat(masks, -1);
}

// Adds the dimension of members to a mask if `values` has one.
Tensor Like(const Tensor& mask, const Tensor& values) {
  return mask.dim() < values.dim() ? mask.unsqueeze(0).expand_as(values) : mask;
}

struct Normals {
  Tensor mean, log_std;
};

// Splits `values` into means and, if `log_std` is undefined, logarithms of deviations.
Normals NormalsOf(const NetworkPlan& plan, const Tensor& values, const Tensor& log_std) {
  if (!log_std.defined()) {
    const std::vector<Tensor> halves = values.chunk(2, -1);
    return {halves[0], halves[1]};
  }
  // Copied, so that a distribution does not change with the parameters.
  if (!plan.members.has_value()) {
    return {values, log_std.expand_as(values).clone()};
  }
  // [members, elements] becomes [members, 1, …, elements].
  std::vector<int64_t> shape(static_cast<size_t>(values.dim()), 1);
  shape.front() = *plan.members;
  shape.back() = log_std.size(-1);
  return {values, log_std.view(shape).expand_as(values).clone()};
}

// A head's outputs as [rows, choices, size].
Tensor ByChoice(const HeadPlan& head, const Tensor& values) {
  std::vector<int64_t> shape = values.sizes().vec();
  shape.back() = head.outputs / head.size;
  shape.push_back(head.size);
  return values.reshape(shape);
}

// Applies `compute` to all leading dimensions flattened to rows.
template <class Compute>
Output OfAllRows(const Network& network, const Observations& observations, const Tensor& action,
                 const ExtraInputs& extra, const Compute& compute) {
  const NetworkPlan& plan = network.plan();
  CheckInputs(plan, observations, action, extra);
  const EncoderPlan& first = plan.trunks[0].encoders[0];
  const Tensor& rows = first.leaf == -1  ? action
                       : first.leaf < -1 ? extra[static_cast<size_t>(-2 - first.leaf)]
                                         : observations[static_cast<size_t>(first.leaf)];
  const int64_t lead = rows.dim() - static_cast<int64_t>(first.array.shape.size());
  TORCH_CHECK(lead >= 1, "the network ", plan.name, " got ", first.array.DebugString(), " as ", rows.sizes(),
              "; wanted one dimension or more before those of a row");
  // Samples of inputs that multiply.
  int64_t samples = 0;
  for (const Tensor& input : extra) {
    samples = input.dim() == lead + 2 ? input.size(lead) : samples;
  }
  Tensor mask = MaskOf(plan.action, observations);
  if (samples > 0 && mask.defined()) {
    std::vector<int64_t> shape = mask.sizes().vec();
    shape.insert(shape.end() - 1, samples);
    mask = mask.unsqueeze(-2).expand(shape);
  }
  if (lead == 1 && samples == 0) {
    Network::Unrolled unrolled = compute(observations, action, extra);
    return Output(&plan, std::move(unrolled.heads), mask, std::move(unrolled.state));
  }
  Observations flat;
  for (size_t i = 0; i < observations.size(); ++i) {
    const Tensor& leaf = observations[i];
    const bool seen = leaf.defined() && plan.Sees(static_cast<int64_t>(i));
    flat.push_back(seen ? leaf.flatten(0, lead - 1) : Tensor());
  }
  ExtraInputs flat_extra;
  for (const Tensor& input : extra) {
    flat_extra.push_back(input.flatten(0, lead - 1));
  }
  Network::Unrolled unrolled = compute(flat, action.defined() ? action.flatten(0, lead - 1) : action, flat_extra);
  for (Network::HeadOutput& head : unrolled.heads) {
    std::vector<int64_t> shape;
    if (plan.members.has_value()) {
      shape.push_back(*plan.members);
    }
    for (int64_t i = 0; i < lead; ++i) {
      shape.push_back(rows.size(i));
    }
    if (samples > 0) {
      shape.push_back(samples);
    }
    shape.push_back(head.values.size(-1));
    head.values = head.values.reshape(shape);
  }
  return Output(&plan, std::move(unrolled.heads), mask, std::move(unrolled.state));
}

}  // namespace

const Network::HeadOutput& Output::Head(absl::string_view name, const HeadPlan** plan) const {
  for (size_t i = 0; i < heads_.size(); ++i) {
    if (plan_->heads[i].name == name) {
      *plan = &plan_->heads[i];
      return heads_[i];
    }
  }
  TORCH_CHECK(false, "the network ", plan_->name, " has no head named ", std::string(name));
  return heads_[0];
}

const Tensor& Output::Values(absl::string_view name, HeadKind kind) const {
  const HeadPlan* plan = nullptr;
  const Tensor& values = Head(name, &plan).values;
  CheckKind(*plan, kind);
  return values;
}

Tensor Output::q(absl::string_view head) const {
  const HeadPlan* plan = nullptr;
  Tensor values = Head(head, &plan).values;
  if (plan->kind == HeadKind::kCategoricalQ) {
    values = (ByChoice(*plan, values).softmax(-1) * AtomValues(*plan, values)).sum(-1);
  } else if (plan->kind == HeadKind::kQuantileQ) {
    values = ByChoice(*plan, values).mean(-1);
  } else {
    CheckKind(*plan, HeadKind::kQ);
  }
  return mask_.defined() ? values.masked_fill(Like(Legal(mask_), values).logical_not(), kIllegal) : values;
}

Tensor Output::atoms(absl::string_view head) const {
  const HeadPlan* plan = nullptr;
  const Tensor& values = Head(head, &plan).values;
  CheckKind(*plan, HeadKind::kCategoricalQ);
  return ByChoice(*plan, values).log_softmax(-1);
}

Tensor Output::quantiles(absl::string_view head) const {
  const HeadPlan* plan = nullptr;
  const Tensor& values = Head(head, &plan).values;
  if (plan->kind == HeadKind::kQuantiles) {
    return values;
  }
  CheckKind(*plan, HeadKind::kQuantileQ);
  return ByChoice(*plan, values);
}

Tensor Output::vector(absl::string_view head) const {
  return Values(head, HeadKind::kVector);
}

Tensor Output::value(absl::string_view head) const {
  const Tensor estimates = values(head);
  return estimates.size(-1) == 1 ? estimates.squeeze(-1) : estimates.mean(-1);
}

Tensor Output::values(absl::string_view head) const {
  return Values(head, HeadKind::kValue);
}

Tensor Output::action(absl::string_view head) const {
  return Values(head, HeadKind::kDeterministic).tanh();
}

Distribution Output::policy(absl::string_view head) const {
  const HeadPlan* plan = nullptr;
  const Network::HeadOutput& output = Head(head, &plan);
  switch (plan->kind) {
    case HeadKind::kCategorical: {
      const Tensor mask = mask_.defined() ? Like(mask_, output.values) : Tensor();
      return plan_->action.is_scalar ? Distribution::Categorical(output.values, mask)
                                     : Distribution::MultiCategorical(output.values, plan_->action.num_values, mask);
    }
    case HeadKind::kNormal: {
      const Normals normals = NormalsOf(*plan_, output.values, output.log_std);
      return Distribution::Normal(normals.mean, normals.log_std);
    }
    case HeadKind::kMixed: {
      const int64_t choices = plan_->action.TotalChoices();
      const Tensor logits = output.values.narrow(-1, 0, choices);
      const Normals normals =
          NormalsOf(*plan_, output.values.narrow(-1, choices, output.values.size(-1) - choices), output.log_std);
      const Tensor mask = mask_.defined() ? Like(mask_, logits) : Tensor();
      return Distribution::Mixed(logits, plan_->action.num_values, mask, normals.mean, normals.log_std);
    }
    case HeadKind::kTanhNormal: {
      const std::vector<Tensor> halves = output.values.chunk(2, -1);
      return Distribution::TanhNormal(halves[0], halves[1].clamp(plan->min_log_std, plan->max_log_std));
    }
    case HeadKind::kDeterministic:
      return Distribution::Deterministic(output.values.tanh());
    case HeadKind::kQ:
    case HeadKind::kValue:
    case HeadKind::kCategoricalQ:
    case HeadKind::kQuantileQ:
    case HeadKind::kQuantiles:
    case HeadKind::kVector:
      break;
  }
  TORCH_CHECK(false, "the head ", plan->name, " is of kind ", Name(plan->kind), ", which is no policy");
  return Distribution::Deterministic(output.values);
}

Tensor AtomValues(const HeadPlan& head, const Tensor& like) {
  return torch::linspace(head.low, head.high, head.size, like.options().requires_grad(false));
}

Output Forward(const Network& network, const Observations& observations, const Tensor& action, const ExtraInputs& extra,
               ForwardPass pass) {
  return OfAllRows(network, observations, action, extra,
                   [&](const Observations& rows, const Tensor& actions, const ExtraInputs& own) {
                     return Network::Unrolled{network.Forward(rows, actions, own, pass), Tensor()};
                   });
}

Output Unroll(const Network& network, const Observations& observations, const Tensor& first, const Tensor& core_state,
              const Tensor& action, const ExtraInputs& extra, ForwardPass pass) {
  return OfAllRows(network, observations, action, extra,
                   [&](const Observations& rows, const Tensor& actions, const ExtraInputs& own) {
                     return network.Unroll(rows, first, core_state, actions, own, pass);
                   });
}

ParameterGroup* Net::group(absl::string_view optimizer) const {
  const auto it = groups_.find(optimizer);
  WAGGLE_CHECK(it != groups_.end(), "an algorithm asked for an optimizer that its own plan does not have");
  return it->second.get();
}

void Net::FollowTarget(double rate) {
  if (target_ == nullptr) {
    return;
  }
  torch::NoGradGuard no_grad;
  torch::Tensor values = target_->parameters().values();
  if (rate == 1) {
    values.copy_(online_->parameters().values());
  } else {
    values.lerp_(online_->parameters().values(), rate);
  }
}

}  // namespace waggle
