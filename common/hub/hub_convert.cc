#include "common/hub/hub_convert.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/net/array_spec_convert.h"

namespace waggle {
namespace {

// More steps than any run takes, far from overflow.
constexpr uint64_t kMaxSteps = uint64_t{1} << 60;

static_assert(static_cast<int>(Role::kReducer) == v1::Role_MAX);
static_assert(static_cast<int>(RunState::kStopped) == v1::RunState_MAX);
static_assert(static_cast<int>(SpaceKind::kMultiBinary) == v1::SpaceLeaf::Kind_MAX);

int64_t ToStep(uint64_t steps) {
  return static_cast<int64_t>(std::min(steps, kMaxSteps));
}

// NaN counts as 0.
Progress ToProgress(double run, uint64_t env_steps) {
  Progress progress;
  progress.run = run > 0 ? std::min(run, 1.0) : 0;
  progress.env_steps = ToStep(env_steps);
  return progress;
}

v1::SpaceLeaf LeafToProto(const SpaceLeaf& leaf) {
  v1::SpaceLeaf proto;
  *proto.mutable_array() = ToProto(leaf.array);
  proto.set_kind(static_cast<v1::SpaceLeaf::Kind>(leaf.kind));
  proto.mutable_num_values()->Assign(leaf.num_values.begin(), leaf.num_values.end());
  proto.mutable_low()->Assign(leaf.low.begin(), leaf.low.end());
  proto.mutable_high()->Assign(leaf.high.begin(), leaf.high.end());
  return proto;
}

absl::StatusOr<SpaceLeaf> LeafFromProto(const v1::SpaceLeaf& proto) {
  SpaceLeaf leaf;
  WAGGLE_ASSIGN_OR_RETURN(leaf.array, FromProto(proto.array()));
  const absl::StatusOr<SpaceKind> kind =
      FromNumber<SpaceKind>(proto.kind(), v1::SpaceLeaf::Kind_IsValid(proto.kind()), "kind of space");
  WAGGLE_RETURN_IF_ERROR(Annotate(kind.status(), leaf.array.name));
  leaf.kind = *kind;
  // Checked before anything is copied.
  const int64_t most = std::max({proto.num_values_size(), proto.low_size(), proto.high_size()});
  if (most > leaf.array.NumElements()) {
    return absl::InvalidArgumentError(absl::StrCat(leaf.array.DebugString(), ": a list of ", most,
                                                   " choices or bounds; wanted at most one an element"));
  }
  leaf.num_values.assign(proto.num_values().begin(), proto.num_values().end());
  leaf.low.assign(proto.low().begin(), proto.low().end());
  leaf.high.assign(proto.high().begin(), proto.high().end());
  WAGGLE_RETURN_IF_ERROR(leaf.Validate());
  return leaf;
}

// The caller has checked the number of leaves.
absl::Status AppendLeaves(const google::protobuf::RepeatedPtrField<v1::SpaceLeaf>& protos,
                          std::vector<SpaceLeaf>* leaves) {
  for (const v1::SpaceLeaf& proto : protos) {
    WAGGLE_ASSIGN_OR_RETURN(SpaceLeaf leaf, LeafFromProto(proto));
    leaves->push_back(std::move(leaf));
  }
  return absl::OkStatus();
}

absl::StatusOr<EnvironmentSpec> DecodeEnvironment(const v1::EnvironmentSpec& proto) {
  const int64_t leaves = int64_t{proto.observations_size()} + proto.actions_size() + proto.rewards_size();
  if (leaves > kMaxColumns) {
    return absl::InvalidArgumentError(absl::StrCat("has ", leaves, " leaves; wanted at most ", kMaxColumns));
  }
  EnvironmentSpec environment;
  environment.name = proto.name();
  WAGGLE_RETURN_IF_ERROR(AppendLeaves(proto.observations(), &environment.observations));
  WAGGLE_RETURN_IF_ERROR(AppendLeaves(proto.actions(), &environment.actions));
  WAGGLE_ASSIGN_OR_RETURN(environment.rewards, FromProto(proto.rewards()));
  environment.max_episode_steps = proto.max_episode_steps();
  WAGGLE_RETURN_IF_ERROR(environment.Validate());
  return environment;
}

}  // namespace

v1::ModelVersion ToProto(const ModelVersion& version) {
  v1::ModelVersion proto;
  proto.set_epoch(version.epoch);
  proto.set_version(version.version);
  return proto;
}

ModelVersion FromProto(const v1::ModelVersion& proto) {
  return {proto.epoch(), proto.version()};
}

v1::EnvironmentSpec ToProto(const EnvironmentSpec& environment) {
  v1::EnvironmentSpec proto;
  proto.set_name(environment.name);
  for (const SpaceLeaf& leaf : environment.observations) {
    *proto.add_observations() = LeafToProto(leaf);
  }
  for (const SpaceLeaf& leaf : environment.actions) {
    *proto.add_actions() = LeafToProto(leaf);
  }
  for (const ArraySpec& reward : environment.rewards) {
    *proto.add_rewards() = ToProto(reward);
  }
  proto.set_max_episode_steps(environment.max_episode_steps);
  return proto;
}

absl::StatusOr<EnvironmentSpec> FromProto(const v1::EnvironmentSpec& proto) {
  absl::StatusOr<EnvironmentSpec> environment = DecodeEnvironment(proto);
  if (!environment.ok()) {
    return Annotate(environment.status(), "environment");
  }
  return environment;
}

v1::Role ToProto(Role role) {
  return static_cast<v1::Role>(role);
}

absl::StatusOr<Role> FromProto(v1::Role proto) {
  return FromNumber<Role>(proto, v1::Role_IsValid(proto), "role");
}

v1::RunState ToProto(RunState state) {
  return static_cast<v1::RunState>(state);
}

absl::StatusOr<RunState> FromProto(v1::RunState proto) {
  return FromNumber<RunState>(proto, v1::RunState_IsValid(proto), "run state");
}

v1::Evaluation ToProto(const Evaluation& evaluation) {
  v1::Evaluation proto;
  *proto.mutable_version() = ToProto(evaluation.version);
  proto.set_episodes(static_cast<uint32_t>(evaluation.episodes));
  proto.set_mean_return(evaluation.mean_return);
  proto.set_min_return(evaluation.min_return);
  proto.set_max_return(evaluation.max_return);
  proto.set_standard_deviation(evaluation.standard_deviation);
  proto.set_mean_length(evaluation.mean_length);
  proto.set_env_steps(evaluation.env_steps);
  proto.mutable_mean_rewards()->Add(evaluation.mean_rewards.begin(), evaluation.mean_rewards.end());
  return proto;
}

Evaluation FromProto(const v1::Evaluation& proto) {
  Evaluation evaluation;
  evaluation.version = FromProto(proto.version());
  evaluation.episodes = proto.episodes();
  evaluation.mean_return = proto.mean_return();
  evaluation.min_return = proto.min_return();
  evaluation.max_return = proto.max_return();
  evaluation.standard_deviation = proto.standard_deviation();
  evaluation.mean_length = proto.mean_length();
  evaluation.env_steps = proto.env_steps();
  evaluation.mean_rewards.assign(proto.mean_rewards().begin(), proto.mean_rewards().end());
  return evaluation;
}

v1::Result ToProto(const RunResult& result) {
  v1::Result proto;
  *proto.mutable_evaluation() = ToProto(result.evaluation);
  proto.set_confirmed(result.confirmed);
  return proto;
}

RunResult FromProto(const v1::Result& proto) {
  return {FromProto(proto.evaluation()), proto.confirmed()};
}

v1::TakeStepsRequest ToProto(const StepRequest& request) {
  v1::TakeStepsRequest proto;
  proto.set_used(static_cast<uint64_t>(request.used));
  proto.set_allowed(static_cast<uint64_t>(request.allowed));
  proto.set_block(static_cast<uint64_t>(request.block));
  proto.set_rate(request.rate);
  return proto;
}

StepRequest FromProto(const v1::TakeStepsRequest& proto) {
  // Too large numbers become negative, and are refused as such.
  return {static_cast<int64_t>(proto.used()), static_cast<int64_t>(proto.allowed()),
          static_cast<int64_t>(proto.block()), proto.rate()};
}

v1::Turn ToProto(const Turn& turn) {
  v1::Turn proto;
  proto.set_number(turn.number);
  proto.set_role(ToProto(turn.role));
  proto.set_items(static_cast<uint64_t>(turn.items));
  if (turn.index.has_value()) {
    proto.set_index(static_cast<uint32_t>(*turn.index));
  }
  proto.set_cut(turn.cut);
  proto.set_since_cut(turn.since_cut);
  return proto;
}

absl::StatusOr<Turn> FromProto(const v1::Turn& proto) {
  Turn turn;
  turn.number = proto.number();
  WAGGLE_ASSIGN_OR_RETURN(turn.role, FromProto(proto.role()));
  turn.items = static_cast<int64_t>(proto.items());
  if (proto.has_index()) {
    turn.index = proto.index();
  }
  turn.cut = proto.cut();
  turn.since_cut = proto.since_cut();
  return turn;
}

v1::Assignment ToProto(const Assignment& assignment) {
  v1::Assignment proto;
  proto.set_run_state(ToProto(assignment.run_state));
  proto.set_experiment_yaml(assignment.experiment_yaml);
  proto.set_settings(assignment.settings);
  if (assignment.exploit.serial > 0) {
    proto.mutable_exploit()->set_source(assignment.exploit.source);
    proto.mutable_exploit()->set_serial(assignment.exploit.serial);
  }
  if (assignment.environment.has_value()) {
    *proto.mutable_environment() = ToProto(*assignment.environment);
  }
  for (const std::string& address : assignment.replay_servers) {
    proto.add_replay_servers(address);
  }
  proto.mutable_learners()->Add(assignment.learners.begin(), assignment.learners.end());
  proto.mutable_reducers()->Add(assignment.reducers.begin(), assignment.reducers.end());
  if (assignment.model_version.has_value()) {
    *proto.mutable_model_version() = ToProto(*assignment.model_version);
  }
  proto.set_actors(static_cast<uint32_t>(assignment.actors));
  proto.set_said_at_us(absl::ToUnixMicros(assignment.said_at));
  proto.set_run_progress(assignment.progress.run);
  proto.set_env_steps(static_cast<uint64_t>(assignment.progress.env_steps));
  proto.mutable_evaluated_rewards()->Add(assignment.evaluated_rewards.begin(), assignment.evaluated_rewards.end());
  if (assignment.result.has_value()) {
    *proto.mutable_result() = ToProto(*assignment.result);
  }
  if (assignment.turn.has_value()) {
    *proto.mutable_turn() = ToProto(*assignment.turn);
  }
  proto.set_cut_wanted(assignment.cut_wanted);
  proto.mutable_cuts()->Add(assignment.cuts.begin(), assignment.cuts.end());
  if (assignment.restoration.has_value()) {
    proto.mutable_restoration()->set_cut(assignment.restoration->cut);
    proto.mutable_restoration()->set_token(assignment.restoration->token);
  }
  if (assignment.group.has_value()) {
    proto.mutable_group()->set_epoch(assignment.group->epoch);
    proto.mutable_group()->set_rank(static_cast<uint32_t>(assignment.group->rank));
    proto.mutable_group()->set_size(static_cast<uint32_t>(assignment.group->size));
  }
  return proto;
}

absl::StatusOr<Assignment> FromProto(const v1::Assignment& proto) {
  Assignment assignment;
  WAGGLE_ASSIGN_OR_RETURN(assignment.run_state, FromProto(proto.run_state()));
  assignment.experiment_yaml = proto.experiment_yaml();
  assignment.settings = proto.settings();
  assignment.exploit = {proto.exploit().source(), proto.exploit().serial()};
  if (proto.has_environment()) {
    WAGGLE_ASSIGN_OR_RETURN(assignment.environment, FromProto(proto.environment()));
  }
  assignment.replay_servers.assign(proto.replay_servers().begin(), proto.replay_servers().end());
  assignment.learners.assign(proto.learners().begin(), proto.learners().end());
  assignment.reducers.assign(proto.reducers().begin(), proto.reducers().end());
  if (proto.has_model_version()) {
    assignment.model_version = FromProto(proto.model_version());
  }
  assignment.actors = proto.actors();
  assignment.said_at = absl::FromUnixMicros(proto.said_at_us());
  assignment.progress = ToProgress(proto.run_progress(), proto.env_steps());
  assignment.evaluated_rewards.assign(proto.evaluated_rewards().begin(), proto.evaluated_rewards().end());
  if (proto.has_result()) {
    assignment.result = FromProto(proto.result());
  }
  if (proto.has_turn()) {
    WAGGLE_ASSIGN_OR_RETURN(assignment.turn, FromProto(proto.turn()));
  }
  assignment.cut_wanted = proto.cut_wanted();
  assignment.cuts.assign(proto.cuts().begin(), proto.cuts().end());
  if (proto.has_restoration()) {
    assignment.restoration = Restoration{proto.restoration().cut(), proto.restoration().token()};
  }
  if (proto.has_group()) {
    assignment.group = GroupSeat{proto.group().epoch(), proto.group().rank(), proto.group().size()};
    if (assignment.group->rank >= assignment.group->size) {
      return absl::InvalidArgumentError(
          absl::StrCat("group: rank ", assignment.group->rank, " of ", assignment.group->size));
    }
  }
  return assignment;
}

v1::ModelHeader ToProto(const ModelSnapshot& snapshot) {
  v1::ModelHeader proto;
  proto.set_model(snapshot.model);
  *proto.mutable_version() = ToProto(snapshot.version);
  for (const ArraySpec& tensor : snapshot.tensors) {
    *proto.add_tensors() = ToProto(tensor);
  }
  proto.set_network_hash(snapshot.network_hash);
  proto.set_run_progress(snapshot.progress.run);
  proto.set_env_steps(static_cast<uint64_t>(snapshot.progress.env_steps));
  return proto;
}

absl::StatusOr<ModelSnapshot> FromProto(const v1::ModelHeader& proto) {
  ModelSnapshot snapshot;
  snapshot.model = proto.model();
  snapshot.version = FromProto(proto.version());
  WAGGLE_ASSIGN_OR_RETURN(snapshot.tensors, FromProto(proto.tensors()));
  snapshot.network_hash = proto.network_hash();
  snapshot.progress = ToProgress(proto.run_progress(), proto.env_steps());
  snapshot.progress.learner_steps = ToStep(snapshot.version.version);
  return snapshot;
}

}  // namespace waggle
