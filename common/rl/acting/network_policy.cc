#include "common/rl/acting/network_policy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/nn/torch_compat.h"
#include "common/nn/weights_codec.h"
#include "common/rl/kit/best_choice.h"

namespace waggle {
namespace {

using torch::Tensor;

// The only head that can choose actions.
const HeadPlan* ActingHead(const NetworkPlan& network) {
  for (const HeadPlan& head : network.heads) {
    if (head.kind != HeadKind::kValue) {
      return &head;
    }
  }
  return nullptr;
}

bool HasValue(const NetworkPlan& network) {
  return std::any_of(network.heads.begin(), network.heads.end(),
                     [](const HeadPlan& head) { return head.kind == HeadKind::kValue; });
}

// A view of the slots.
Tensor SlotsOf(const PolicyInput& input) {
  return torch::from_blob(const_cast<int64_t*>(input.slots.data()), {input.rows()}, torch::kInt64);
}

absl::Status CheckColumns(const AlgorithmPlan& plan, const NetworkPlan& network, const HeadPlan& head) {
  const bool samples = head.kind == HeadKind::kCategorical || head.kind == HeadKind::kNormal ||
                       head.kind == HeadKind::kTanhNormal || head.kind == HeadKind::kMixed;
  std::vector<std::string> known;
  if (samples) {
    known.emplace_back("log_prob");
  }
  if (HasValue(network)) {
    known.emplace_back("value");
  }
  if (network.state_size > 0) {
    known.emplace_back(kCoreState);
  }
  for (const std::string& column : plan.columns) {
    if (std::find(known.begin(), known.end(), column) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the network ", network.name, " gives no column \"", column,
                                                     "\"; it gives ", absl::StrJoin(known, ", ")));
    }
  }
  const std::vector<std::string> values = {"q_taken", "q_max"};
  if (!plan.private_columns.empty() && (head.kind != HeadKind::kQ || plan.private_columns != values)) {
    return absl::InvalidArgumentError(absl::StrCat("the network ", network.name,
                                                   " gives the private columns q_taken, q_max of a q head or none; "
                                                   "asked for ",
                                                   absl::StrJoin(plan.private_columns, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Policy>> NetworkPolicy::Create(const PolicyContext& context) {
  if (context.lanes < 1) {
    return absl::InvalidArgumentError(absl::StrCat(context.lanes, " lanes; wanted at least 1"));
  }
  WAGGLE_RETURN_IF_ERROR(CheckAgainstEnvironment(*context.experiment, context.environment, *context.definitions));
  WAGGLE_ASSIGN_OR_RETURN(ExperimentPlan plan,
                          PlanExperiment(*context.experiment, context.environment, *context.definitions));
  const NetworkPlan* const acting = plan.acting();
  if (acting == nullptr || ActingHead(*acting) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("algorithm ", context.experiment->algorithm, " has no network that chooses actions"));
  }
  WAGGLE_RETURN_IF_ERROR(CheckColumns(plan.algorithm, *acting, *ActingHead(*acting)));
  const auto seed = static_cast<uint64_t>(context.experiment->experiment.seed);
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          Network::Create(*acting, context.device, seed, torch::kFloat32, /*learns=*/false));
  return CatchTorch("making a policy", [&] {
    return std::unique_ptr<Policy>(new NetworkPolicy(context, std::move(plan), std::move(network)));
  });
}

NetworkPolicy::NetworkPolicy(const PolicyContext& context, ExperimentPlan plan, std::unique_ptr<Network> network)
    : plan_(std::move(plan)),
      environment_(context.environment),
      device_(context.device),
      network_(std::move(network)),
      head_(ActingHead(network_->plan())),
      lanes_(context.lanes),
      max_rows_(context.max_rows > 0 ? std::min(context.max_rows, lanes_) : lanes_),
      private_columns_(plan_.algorithm.private_columns),
      noise_(Rng::Split(context.seed, "policy", static_cast<uint64_t>(context.first_lane)).Next(), device_),
      explorer_(plan_.algorithm.exploration, network_->plan().action,
                {context.lanes, context.first_lane, context.all_lanes, context.first_step}, context.seed) {
  columns_ = plan_.PolicyColumns();
  for (size_t i = 0; i < environment_.observations.size(); ++i) {
    const SpaceLeaf& leaf = environment_.observations[i];
    if (!network_->plan().Sees(static_cast<int64_t>(i))) {
      staged_.emplace_back();
      continue;
    }
    std::vector<int64_t> shape = leaf.array.shape;
    shape.insert(shape.begin(), max_rows_);
    staged_.push_back(torch::zeros(
        shape, torch::TensorOptions().dtype(ToScalarType(leaf.array.dtype)).pinned_memory(!device_.is_cpu())));
  }
  states_ = torch::zeros({lanes_, network_->plan().state_size}, device_);
}

Output NetworkPolicy::Decide(const PolicyInput& input) {
  const Observations observations = Stage(input);
  if (network_->plan().state_size == 0) {
    return Forward(*network_, observations);
  }
  const Tensor slots = SlotsOf(input).to(device_);
  const Tensor first = torch::from_blob(const_cast<uint8_t*>(input.first), {input.rows(), 1}, torch::kUInt8);
  before_ = states_.index_select(0, slots).masked_fill_(first.to(device_, torch::kBool), 0);
  Output out = Unroll(*network_, observations, /*first=*/{}, before_);
  Remember(input, out.core_state());
  return out;
}

void NetworkPolicy::Remember(const PolicyInput& input, const Tensor& states) {
  states_.index_copy_(0, SlotsOf(input).to(device_), states);
}

Observations NetworkPolicy::Stage(const PolicyInput& input) {
  const int64_t rows = input.rows();
  Observations observations;
  observations.reserve(staged_.size());
  for (size_t i = 0; i < staged_.size(); ++i) {
    if (!staged_[i].defined()) {
      observations.emplace_back();
      continue;
    }
    const Tensor own = rows == max_rows_ ? staged_[i] : staged_[i].narrow(0, 0, rows);
    std::memcpy(own.data_ptr(), input.observations[i], own.nbytes());
    observations.push_back(device_.is_cpu() ? own : own.to(device_, /*non_blocking=*/true));
  }
  return observations;
}

absl::Status NetworkPolicy::CheckSlots(absl::Span<const int64_t> slots) const {
  for (const int64_t slot : slots) {
    if (slot < 0 || slot >= lanes_) {
      return absl::InvalidArgumentError(
          absl::StrCat("slot: got ", slot, "; wanted 0 or more, less than ", lanes_, ", the number of lanes"));
    }
  }
  if (slots.size() > static_cast<size_t>(max_rows_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(slots.size(), " rows for a policy of ", lanes_, " slots; wanted at most ", max_rows_));
  }
  return absl::OkStatus();
}

absl::Status NetworkPolicy::Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) {
  WAGGLE_RETURN_IF_ERROR(CheckSlots(input.slots));
  return CatchTorch("acting", [&]() -> absl::Status {
    const c10::InferenceMode inference;
    const Output out = Decide(input);
    if (mode == ActMode::kExplore) {
      explorer_.Advance(absl::MakeConstSpan(input.first, input.slots.size()));
    }
    const absl::Status acted = head_->kind == HeadKind::kQ ? ActByValues(out, input, mode, output)
                                                           : ActByDistribution(out, input, mode, output);
    if (!acted.ok() && before_.defined()) {
      Remember(input, before_);  // Restores the states of rows without an action.
    }
    return acted;
  });
}

absl::Status NetworkPolicy::ActByValues(const Output& out, const PolicyInput& input, ActMode mode,
                                        PolicyOutput* output) {
  const Tensor values = out.q(head_->name).to(torch::kCPU, torch::kFloat32).contiguous();
  const Tensor mask = out.mask().defined() ? out.mask().to(torch::kCPU).contiguous() : Tensor();
  const int64_t choices = values.size(1);
  const float* q = values.data_ptr<float>();
  const bool* legal = mask.defined() ? mask.data_ptr<bool>() : nullptr;
  int64_t* const actions = static_cast<int64_t*>(output->actions[0]);
  for (int64_t row = 0; row < input.rows(); ++row, q += choices) {
    const int64_t slot = input.slots[static_cast<size_t>(row)];
    const int64_t best = BestChoice(q, choices);
    const int64_t action = mode == ActMode::kGreedy ? best : explorer_.Choose(slot, q, choices, best, legal);
    if (!std::isfinite(q[best]) || !std::isfinite(q[action])) {
      return absl::InvalidArgumentError(
          absl::StrCat("slot ", slot, ": the Q-values of its observation are not finite"));
    }
    actions[row] = action;
    if (output->private_values != nullptr && !private_columns_.empty()) {
      output->private_values[2 * row] = q[action];
      output->private_values[2 * row + 1] = q[best];
    }
    legal = legal == nullptr ? nullptr : legal + choices;
  }
  return WriteColumns(out, /*log_prob=*/Tensor(), output);
}

absl::Status NetworkPolicy::ActByDistribution(const Output& out, const PolicyInput& input, ActMode mode,
                                              PolicyOutput* output) {
  const Distribution policy = out.policy(head_->name);
  Tensor action;
  Tensor log_prob;
  if (mode == ActMode::kGreedy) {
    action = policy.Mode().to(torch::kCPU);
  } else {
    SampledAction sampled = policy.Sample(&noise_);
    action = sampled.action.to(torch::kCPU);
    log_prob = sampled.log_prob;
  }
  if (mode == ActMode::kExplore) {
    const Tensor slots = SlotsOf(input);
    const Tensor first = torch::from_blob(const_cast<uint8_t*>(input.first), {input.rows()}, torch::kUInt8);
    const Tensor mask = out.mask().defined() ? out.mask().to(torch::kCPU).contiguous() : Tensor();
    const Tensor explored = explorer_.Explore(action, slots, first.to(torch::kBool), mask);
    if (log_prob.defined() && !explored.is_same(action)) {
      log_prob = policy.LogProb(explored.to(device_));
    }
    action = explored;
  }
  if (action.is_floating_point() && !torch::isfinite(action).all().item<bool>()) {
    return absl::InvalidArgumentError("the actions that the network chooses are not all finite");
  }
  WriteActions(action, output);
  return WriteColumns(out, log_prob, output);
}

void NetworkPolicy::WriteActions(const Tensor& actions, PolicyOutput* output) const {
  const Tensor elements = actions.reshape({actions.size(0), -1});
  for (const JointAction::Part& part : network_->plan().action.parts) {
    const DType type = environment_.actions[part.leaf].array.dtype;
    const Tensor written = elements.narrow(1, part.first, part.elements).to(ToScalarType(type)).contiguous();
    std::memcpy(output->actions[part.leaf], written.data_ptr(), written.nbytes());
  }
}

absl::Status NetworkPolicy::WriteColumns(const Output& out, const Tensor& log_prob, PolicyOutput* output) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string& name = columns_[i].name;
    const Tensor values = name == kCoreState ? before_ : name == "value" ? out.value() : log_prob;
    if (!values.defined()) {
      continue;  // A greedy action has no probability.
    }
    const Tensor column = values.to(torch::kCPU, torch::kFloat32).contiguous();
    std::memcpy(output->columns[i], column.data_ptr(), column.nbytes());
  }
  return absl::OkStatus();
}

absl::Status NetworkPolicy::LoadWeights(const ModelSnapshot& snapshot) {
  WAGGLE_RETURN_IF_ERROR(DecodeWeights(snapshot, network_->plan().hash, &network_->parameters()));
  explorer_.SetProgress(snapshot.progress);
  return absl::OkStatus();
}

}  // namespace waggle
