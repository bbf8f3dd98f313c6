#include "actor/environments/environment_lanes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/acting/action_scaling.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::vector<std::unique_ptr<Environment>>> MakeEnvironments(const EnvironmentDefinition& definition,
                                                                           const EnvironmentOptions& options,
                                                                           int64_t lanes, Rng rng) {
  if (lanes < 1) {
    return absl::InvalidArgumentError(absl::StrCat("lanes: got ", lanes, "; wanted at least 1"));
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

EnvironmentLanes::EnvironmentLanes(std::vector<std::unique_ptr<Environment>> environments, std::string lane_name,
                                   size_t first_lane)
    : environments_(std::move(environments)),
      spec_(environments_[0]->spec()),
      lane_name_(std::move(lane_name)),
      first_lane_(first_lane),
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
  for (const ArraySpec& leaf : spec_.rewards) {
    reward_elements_.push_back(static_cast<size_t>(leaf.NumElements()));
  }
}

absl::Status EnvironmentLanes::Reset(size_t lane, absl::Span<void* const> observations, size_t row) {
  const absl::Status started = environments_[lane]->Reset(ObservationsOf(observations, row));
  return started.ok() ? started : Annotate(started, absl::StrCat(lane_name_, " ", first_lane_ + lane));
}

absl::StatusOr<StepOutcome> EnvironmentLanes::Step(size_t lane, absl::Span<const void* const> actions,
                                                   size_t action_row, absl::Span<void* const> observations,
                                                   absl::Span<float* const> rewards, size_t row) {
  const size_t elements = rewards_.size();
  float* const written = rewards.size() == 1 ? rewards[0] + row * elements : rewards_.data();
  // Every return below returns this variable, so that it is not copied: a copy takes a tenth of a short step's time.
  absl::StatusOr<StepOutcome> outcome =
      environments_[lane]->Step(ActionsOf(actions, action_row), ObservationsOf(observations, row), written);
  if (!outcome.ok()) {
    outcome = Annotate(outcome.status(), absl::StrCat(lane_name_, " ", first_lane_ + lane));
    return outcome;
  }
  for (size_t i = 0; i < elements; ++i) {
    if (!std::isfinite(written[i])) {
      outcome = absl::InvalidArgumentError(absl::StrCat(lane_name_, " ", first_lane_ + lane, ": ", spec_.name,
                                                        " gave a reward of ", written[i], "; wanted a finite one"));
      return outcome;
    }
  }
  if (rewards.size() != 1) {
    Scatter(rewards, row);
  }
  return outcome;
}

void EnvironmentLanes::Scatter(absl::Span<float* const> rewards, size_t row) const {
  const float* from = rewards_.data();
  for (size_t i = 0; i < rewards.size(); ++i) {
    std::copy_n(from, reward_elements_[i], rewards[i] + row * reward_elements_[i]);
    from += reward_elements_[i];
  }
}

absl::Span<void* const> EnvironmentLanes::ObservationsOf(absl::Span<void* const> observations, size_t row) {
  const size_t leaves = observation_pointers_.size();
  void** const pointers = observation_pointers_.data();
  for (size_t i = 0; i < leaves; ++i) {
    pointers[i] = static_cast<char*>(observations[i]) + row * observation_bytes_[i];
  }
  return {pointers, leaves};
}

absl::Span<const void* const> EnvironmentLanes::ActionsOf(absl::Span<const void* const> actions, size_t row) {
  const size_t leaves = actions_.size();
  const void** const pointers = action_pointers_.data();
  for (size_t i = 0; i < leaves; ++i) {
    Action& action = actions_[i];
    const char* const chosen = static_cast<const char*>(actions[i]) + row * action.bytes;
    pointers[i] = chosen;
    if (action.scaled) {
      ScaleAction(spec_.actions[i], reinterpret_cast<const float*>(chosen), action.values.data());
      pointers[i] = action.values.data();
    }
  }
  return {pointers, leaves};
}

}  // namespace waggle
