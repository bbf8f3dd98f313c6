#include "actor/environment_lanes.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/action_scaling.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::vector<std::unique_ptr<Environment>>> MakeEnvironments(const EnvironmentDefinition& definition,
                                                                           const EnvironmentOptions& options,
                                                                           int64_t lanes, Rng rng) {
  if (lanes < 1) {
    return absl::InvalidArgumentError(absl::StrCat("lanes: ", lanes, "; wanted at least 1"));
  }
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentSpec spec, definition.spec(options));
  WAGGLE_RETURN_IF_ERROR(spec.Validate());
  std::vector<std::unique_ptr<Environment>> environments;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    auto environment = definition.create(options, rng.Next());
    if (!environment.ok()) {
      return Annotate(environment.status(), absl::StrCat("lane ", lane));
    }
    if (!((*environment)->spec() == spec)) {
      return absl::InvalidArgumentError(absl::StrCat("lane ", lane, " is ", (*environment)->spec().DebugString(),
                                                     "; its definition says ", spec.DebugString()));
    }
    environments.push_back(*std::move(environment));
  }
  return environments;
}

EnvironmentLanes::EnvironmentLanes(std::vector<std::unique_ptr<Environment>> environments, std::string lane_name)
    : environments_(std::move(environments)),
      spec_(environments_[0]->spec()),
      lane_name_(std::move(lane_name)),
      rewards_(static_cast<size_t>(NumRewards(spec_.rewards))),
      observation_pointers_(spec_.observations.size()),
      action_pointers_(spec_.actions.size()) {
  for (const SpaceLeaf& leaf : spec_.observations) {
    observation_bytes_.push_back(static_cast<size_t>(leaf.array.NumBytes()));
  }
  for (const SpaceLeaf& leaf : spec_.actions) {
    Action action;
    action.bytes = static_cast<size_t>(leaf.array.NumBytes());
    action.scaled = IsScaledAction(leaf);
    action.values.resize(action.scaled ? static_cast<size_t>(leaf.array.NumElements()) : 0);
    actions_.push_back(std::move(action));
  }
  const float* reward = rewards_.data();
  for (const ArraySpec& leaf : spec_.rewards) {
    reward_pointers_.push_back(reward);
    reward += leaf.NumElements();
  }
}

absl::Status EnvironmentLanes::Reset(size_t lane, absl::Span<void* const> observations, size_t row) {
  const absl::Status started = environments_[lane]->Reset(ObservationsOf(observations, row));
  return started.ok() ? started : Annotate(started, absl::StrCat(lane_name_, " ", lane));
}

absl::StatusOr<LaneStep> EnvironmentLanes::Step(size_t lane, absl::Span<const void* const> actions, size_t action_row,
                                                absl::Span<void* const> observations, size_t row) {
  const auto outcome =
      environments_[lane]->Step(ActionsOf(actions, action_row), ObservationsOf(observations, row), rewards_.data());
  if (!outcome.ok()) {
    return Annotate(outcome.status(), absl::StrCat(lane_name_, " ", lane));
  }
  for (const float reward : rewards_) {
    if (!std::isfinite(reward)) {
      return absl::InvalidArgumentError(
          absl::StrCat(lane_name_, " ", lane, ": ", spec_.name, " gave a reward of ", reward, "; wanted a finite one"));
    }
  }
  LaneStep step;
  step.terminated = outcome->terminated;
  step.truncated = outcome->truncated;
  step.rewards = reward_pointers_;
  return step;
}

absl::Span<void* const> EnvironmentLanes::ObservationsOf(absl::Span<void* const> observations, size_t row) {
  for (size_t i = 0; i < observation_pointers_.size(); ++i) {
    observation_pointers_[i] = static_cast<char*>(observations[i]) + row * observation_bytes_[i];
  }
  return observation_pointers_;
}

absl::Span<const void* const> EnvironmentLanes::ActionsOf(absl::Span<const void* const> actions, size_t row) {
  for (size_t i = 0; i < actions_.size(); ++i) {
    const char* const chosen = static_cast<const char*>(actions[i]) + row * actions_[i].bytes;
    action_pointers_[i] = chosen;
    if (actions_[i].scaled) {
      ScaleAction(spec_.actions[i], reinterpret_cast<const float*>(chosen), actions_[i].values.data());
      action_pointers_[i] = actions_[i].values.data();
    }
  }
  return action_pointers_;
}

}  // namespace waggle
