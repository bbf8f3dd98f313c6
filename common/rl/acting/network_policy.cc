#include "common/rl/acting/network_policy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/config/plan/acting_head.h"
#include "common/config/plan/head_kinds.h"
#include "common/nn/torch_compat.h"
#include "common/nn/weights_codec.h"
#include "common/rl/acting/acting_parameters.h"
#include "common/rl/kit/best_choice.h"

namespace waggle {
namespace {

using torch::Tensor;

bool HasValue(const NetworkPlan& network) {
  return std::any_of(network.heads.begin(), network.heads.end(),
                     [](const HeadPlan& head) { return head.kind == HeadKind::kValue; });
}

// A view of the slots.
Tensor SlotsOf(const PolicyInput& input) {
  return torch::from_blob(const_cast<int64_t*>(input.slots.data()), {input.rows()}, torch::kInt64);
}

// The same of `first`, bytes [rows].
Tensor FirstOf(const PolicyInput& input) {
  return torch::from_blob(const_cast<uint8_t*>(input.first), {input.rows()}, torch::kUInt8);
}

const NetworkNeed& NeedOf(const ExperimentPlan& plan, const NetworkPlan& network) {
  return *std::find_if(plan.algorithm.networks.begin(), plan.algorithm.networks.end(),
                       [&](const NetworkNeed& need) { return need.name == network.name; });
}

absl::Status CheckColumns(const AlgorithmPlan& plan, const NetworkPlan& network, const HeadPlan& head) {
  const bool samples = GivesPolicy(head.kind) && head.kind != HeadKind::kDeterministic;
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
  for (const ArraySpec& column : plan.columns) {
    if (std::find(known.begin(), known.end(), column.name) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the network ", network.name, " gives no column \"", column.name,
                                                     "\"; it gives ", absl::StrJoin(known, ", ")));
    }
  }
  const std::vector<std::string> values = {"q_taken", "q_max"};
  if (!plan.private_columns.empty() && (!GivesChoicesValues(head.kind) || plan.private_columns != values)) {
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
  const Experiment& experiment = *context.experiment;
  WAGGLE_RETURN_IF_ERROR(CheckAgainstEnvironment(experiment, context.environment, *context.definitions));
  WAGGLE_ASSIGN_OR_RETURN(ExperimentPlan plan, PlanExperiment(experiment, context.environment, *context.definitions));
  const bool own = plan.algorithm.own_policy;
  const std::vector<const NetworkPlan*> acting = plan.acting();
  const HeadPlan* const head = own || acting.size() != 1 ? nullptr : ActingHead(NeedOf(plan, *acting[0]), *acting[0]);
  if (acting.empty() || (!own && head == nullptr)) {
    return absl::InvalidArgumentError(
        absl::StrCat("algorithm ", experiment.algorithm, " has no network, or several, that choose actions"));
  }
  if (!own) {
    WAGGLE_RETURN_IF_ERROR(CheckColumns(plan.algorithm, *acting[0], *head));
  }
  const auto seed = static_cast<uint64_t>(experiment.experiment.seed);
  std::vector<std::unique_ptr<Network>> networks;
  for (const NetworkPlan* const network : acting) {
    networks.emplace_back();
    WAGGLE_ASSIGN_OR_RETURN(networks.back(),
                            Network::Create(*network, context.device, seed, torch::kFloat32, /*learns=*/false));
  }
  WAGGLE_ASSIGN_OR_RETURN(auto scalars, NewActingScalars(plan.algorithm, context.device));
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<NetworkPolicy> policy, CatchTorch("making a policy", [&] {
                            return std::unique_ptr<NetworkPolicy>(
                                new NetworkPolicy(context, std::move(plan), std::move(networks), std::move(scalars)));
                          }));
  if (own) {
    WAGGLE_RETURN_IF_ERROR(policy->MakeOwn(context));
  }
  if (policy->plan_.algorithm.exploration.type == "parameter_noise") {
    const Network* const clean = policy->networks_[0].get();
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Network> noisy,
                            Network::Create(clean->plan(), context.device, seed, torch::kFloat32, /*learns=*/false));
    policy->parameter_noise_ =
        std::make_unique<ParameterNoise>(policy->plan_.algorithm.exploration, clean, std::move(noisy), policy->head_);
  }
  return policy;
}

absl::Status NetworkPolicy::MakeOwn(const PolicyContext& context) {
  const std::string& name = context.experiment->algorithm;
  const auto found = context.implementations == nullptr
                         ? absl::StatusOr<const AlgorithmImplementation*>(absl::NotFoundError(name))
                         : context.implementations->Find(name);
  if (!found.ok() || (*found)->new_policy == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("algorithm ", name, " has no policy of its own here"));
  }
  ActingNets nets{environment_, device_, lanes_, {}};
  for (const std::unique_ptr<Network>& network : networks_) {
    nets.nets.emplace(network->plan().name, NetView(network.get()));
  }
  for (const auto& [scalar, parameters] : scalars_) {
    nets.scalars.emplace(scalar, parameters.value_views()[0]);
  }
  WAGGLE_ASSIGN_OR_RETURN(own_, (*found)->new_policy(*context.experiment->algorithm_options, std::move(nets)));
  return absl::OkStatus();
}

NetworkPolicy::NetworkPolicy(const PolicyContext& context, ExperimentPlan plan,
                             std::vector<std::unique_ptr<Network>> networks,
                             std::map<std::string, FlatParameters> scalars)
    : plan_(std::move(plan)),
      environment_(context.environment),
      action_(JointActionOf(environment_)),
      device_(context.device),
      networks_(std::move(networks)),
      scalars_(std::move(scalars)),
      parameters_(ActingParameters(plan_.algorithm, networks_, &scalars_)),
      head_(plan_.algorithm.own_policy ? nullptr
                                       : ActingHead(NeedOf(plan_, networks_[0]->plan()), networks_[0]->plan())),
      lanes_(context.lanes),
      max_rows_(context.max_rows > 0 ? std::min(context.max_rows, lanes_) : lanes_),
      columns_(plan_.algorithm.columns),
      private_columns_(plan_.algorithm.private_columns),
      noise_(Rng::Split(context.seed, "policy", static_cast<uint64_t>(context.first_lane)).Next(), device_),
      explorer_(plan_.algorithm.exploration, action_,
                {context.lanes, context.first_lane, context.all_lanes, context.first_step}, context.seed) {
  for (size_t i = 0; i < environment_.observations.size(); ++i) {
    const SpaceLeaf& leaf = environment_.observations[i];
    // Networks of agents see leaves by their own indices.
    const auto sees = [this, i](const std::unique_ptr<Network>& network) {
      return !NeedOf(plan_, network->plan()).agents.empty() || network->plan().Sees(static_cast<int64_t>(i));
    };
    if (std::none_of(networks_.begin(), networks_.end(), sees)) {
      staged_.emplace_back();
      continue;
    }
    std::vector<int64_t> shape = leaf.array.shape;
    shape.insert(shape.begin(), max_rows_);
    staged_.push_back(torch::zeros(
        shape, torch::TensorOptions().dtype(ToScalarType(leaf.array.dtype)).pinned_memory(!device_.is_cpu())));
  }
  states_ = torch::zeros({lanes_, networks_[0]->plan().state_size}, device_);
}

Acted NetworkPolicy::ActByHead(const ActingRows& rows) {
  const bool noisy = parameter_noise_ != nullptr && !rows.greedy;
  const Network& network = noisy ? parameter_noise_->Next(rows.observation, rows.noise) : *networks_[0];
  const bool has_core = network.plan().state_size > 0;
  if (has_core) {
    before_ = states_.index_select(0, rows.slots).masked_fill_(rows.first.unsqueeze(1), 0);
  }
  const Output out =
      has_core ? Unroll(network, rows.observation, /*first=*/{}, before_) : Forward(network, rows.observation);
  Acted acted;
  acted.mask = out.mask();
  if (has_core) {
    states_.index_copy_(0, rows.slots, out.core_state());
    acted.columns[kCoreState] = before_;
  }
  if (GivesChoicesValues(head_->kind)) {
    acted.values = out.q(head_->name);
  } else {
    acted.policy = out.policy(head_->name);
    if (rows.greedy) {
      acted.action = acted.policy->Mode();
    } else {
      SampledAction sampled = acted.policy->Sample(rows.noise);
      acted.action = std::move(sampled.action);
      acted.columns["log_prob"] = std::move(sampled.log_prob);
    }
  }
  if (HasValue(network.plan())) {
    acted.columns["value"] = out.value();
  }
  return acted;
}

void NetworkPolicy::SetNoise(ActMode mode, int64_t rows) {
  const bool explores = mode == ActMode::kExplore;
  const bool stays = plan_.algorithm.rows_per_version.has_value();
  // If it is new for each step, each row has its own, so that lanes that are alike explore differently.
  const DrawNormal draw = [this, stays, rows](const Tensor& like) {
    return noise_.NormalLike(stays ? like : torch::stack(std::vector<Tensor>(static_cast<size_t>(rows), like), -2));
  };
  for (const std::unique_ptr<Network>& network : networks_) {
    if (network->noisy() && !(explores && stays && has_noise_)) {
      network->SetNoise(explores ? draw : DrawNormal());
    }
  }
  has_noise_ = explores;
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
    const c10::InferenceMode inference(own_ == nullptr || !own_->differentiates());
    SetNoise(mode, input.rows());
    const Observations observations = Stage(input);
    ActingRows rows{observations, {}, {}, mode == ActMode::kGreedy, &noise_};
    if (own_ != nullptr || states_.size(1) > 0) {
      rows.slots = SlotsOf(input).to(device_);
      rows.first = FirstOf(input).to(device_, torch::kBool);
    }
    Acted acted = own_ != nullptr ? own_->Act(rows) : ActByHead(rows);
    if (mode == ActMode::kExplore) {
      explorer_.Advance(absl::MakeConstSpan(input.first, input.slots.size()));
    }
    acted.mask = acted.mask.defined() ? acted.mask.to(torch::kCPU).contiguous() : acted.mask;
    const absl::StatusOr<Tensor> taken =
        acted.values.defined() ? Choose(input, mode, &acted) : Explored(input, mode, &acted);
    if (!taken.ok()) {
      if (before_.defined()) {
        states_.index_copy_(0, rows.slots, before_);  // Restores the states of rows without an action.
      }
      return taken.status();
    }
    if (own_ != nullptr) {
      const Tensor on_device = taken->to(device_);
      own_->NoteTaken(rows, on_device);
      own_->AddColumns(rows, on_device, &acted);
    }
    WriteActions(*taken, output);
    return WriteColumns(acted, input.rows(), mode, output);
  });
}

absl::StatusOr<Tensor> NetworkPolicy::Choose(const PolicyInput& input, ActMode mode, Acted* acted) {
  const Tensor values = acted->values.to(torch::kCPU, torch::kFloat32).contiguous();
  const int64_t elements = action_.num_choosing();
  const Tensor actions = torch::empty({input.rows(), elements}, torch::kInt64);
  const bool wants_values = !private_columns_.empty();
  const Tensor taken = wants_values ? torch::zeros({2, input.rows()}, torch::kFloat32) : Tensor();
  const float* q = values.data_ptr<float>();
  const bool* legal = acted->mask.defined() ? acted->mask.data_ptr<bool>() : nullptr;
  for (int64_t i = 0; i < actions.numel(); ++i) {
    const int64_t row = i / elements;
    const int64_t choices = action_.num_values[static_cast<size_t>(i % elements)];
    const int64_t slot = input.slots[static_cast<size_t>(row)];
    const int64_t best = BestChoice(q, choices);
    const int64_t action = mode == ActMode::kGreedy ? best : explorer_.Choose(slot, q, choices, best, legal);
    if (!std::isfinite(q[best]) || !std::isfinite(q[action])) {
      return absl::InvalidArgumentError(
          absl::StrCat("slot ", slot, ": the Q-values of its observation are not finite"));
    }
    actions.data_ptr<int64_t>()[i] = action;
    if (wants_values) {
      taken.data_ptr<float>()[row] += q[action];
      taken.data_ptr<float>()[input.rows() + row] += q[best];
    }
    q += choices;
    legal = legal == nullptr ? nullptr : legal + choices;
  }
  if (wants_values) {
    acted->columns["q_taken"] = taken[0];
    acted->columns["q_max"] = taken[1];
  }
  return action_.is_scalar ? actions.squeeze(1) : actions;
}

absl::StatusOr<Tensor> NetworkPolicy::Explored(const PolicyInput& input, ActMode mode, Acted* acted) {
  Tensor action = acted->action.to(torch::kCPU);
  if (mode == ActMode::kExplore) {
    const Tensor slots = SlotsOf(input);
    const Tensor explored = explorer_.Explore(action, slots, FirstOf(input).to(torch::kBool), acted->mask);
    Tensor& log_prob = acted->columns["log_prob"];
    if (acted->policy.has_value() && log_prob.defined() && !explored.is_same(action)) {
      log_prob = acted->policy->LogProb(explored.to(device_));
    }
    action = explored;
  }
  if (action.is_floating_point() && !torch::isfinite(action).all().item<bool>()) {
    return absl::InvalidArgumentError("the actions that the network chooses are not all finite");
  }
  return action;
}

void NetworkPolicy::WriteActions(const Tensor& actions, PolicyOutput* output) const {
  const Tensor elements = actions.reshape({actions.size(0), -1});
  for (const JointAction::Part& part : action_.parts) {
    const DType type = environment_.actions[part.leaf].array.dtype;
    const Tensor written = elements.narrow(1, part.first, part.elements).to(ToScalarType(type)).contiguous();
    std::memcpy(output->actions[part.leaf], written.data_ptr(), written.nbytes());
  }
}

absl::Status NetworkPolicy::WriteColumns(const Acted& acted, int64_t rows, ActMode mode, PolicyOutput* output) const {
  // Null if it is not given. Only a greedy action may lack one: it has no probability.
  const auto find = [&](const std::string& name) -> const Tensor* {
    const auto it = acted.columns.find(name);
    return it == acted.columns.end() || !it->second.defined() ? nullptr : &it->second;
  };
  const auto missing = [](const std::string& name, int64_t elements) {
    return absl::InvalidArgumentError(
        absl::StrCat("column ", name, ": the policy has not given ", elements, " numbers a row"));
  };
  for (size_t i = 0; i < columns_.size(); ++i) {
    const int64_t elements = columns_[i].NumElements();
    const Tensor* const values = find(columns_[i].name);
    if (values == nullptr && mode == ActMode::kGreedy) {
      continue;
    }
    if (values == nullptr || values->numel() != rows * elements) {
      return missing(columns_[i].name, elements);
    }
    const Tensor column = values->to(torch::kCPU, ToScalarType(columns_[i].dtype)).contiguous();
    std::memcpy(output->columns[i], column.data_ptr(), column.nbytes());
  }
  const size_t count = private_columns_.size();
  for (size_t i = 0; output->private_values != nullptr && i < count; ++i) {
    const Tensor* const values = find(private_columns_[i]);
    if (values == nullptr || values->numel() != rows) {
      return missing(private_columns_[i], 1);
    }
    const Tensor column = values->to(torch::kCPU, torch::kFloat32).contiguous();
    for (int64_t row = 0; row < rows; ++row) {
      output->private_values[static_cast<size_t>(row) * count + i] = column.data_ptr<float>()[row];
    }
  }
  return absl::OkStatus();
}

absl::Status NetworkPolicy::LoadWeights(const ModelSnapshot& snapshot) {
  WAGGLE_RETURN_IF_ERROR(DecodeWeights(snapshot, plan_.acting_hash(), parameters_));
  explorer_.SetProgress(snapshot.progress);
  has_noise_ = false;
  return parameter_noise_ == nullptr
             ? absl::OkStatus()
             : CatchTorch("adding noise to weights", [this] { parameter_noise_->FollowClean(); });
}

}  // namespace waggle
