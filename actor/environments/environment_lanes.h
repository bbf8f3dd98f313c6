#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/environment.h"
#include "common/base/random.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `lanes` copies of an environment, seeded from `rng`. INVALID_ARGUMENT if `lanes` is less than 1, or the
// definition's spec and a copy's differ.
absl::StatusOr<std::vector<std::unique_ptr<Environment>>> MakeEnvironments(const EnvironmentDefinition& definition,
                                                                           const EnvironmentOptions& options,
                                                                           int64_t lanes, Rng rng);

// Copies of one environment, each stepped by itself. Arrays have rows of several lanes: one array [rows, …] for each
// leaf of the spec's actions, observations or rewards, in their order. Actions are scaled here, and only here
// (ScaleAction). Errors name the lane. One thread.
class EnvironmentLanes {
 public:
  // At least one environment, all of one spec, as MakeEnvironments returns. Errors call a lane `lane_name` ("lane",
  // "evaluation lane") and number lane 0 `first_lane`.
  EnvironmentLanes(std::vector<std::unique_ptr<Environment>> environments, std::string lane_name,
                   size_t first_lane = 0);

  const EnvironmentSpec& spec() const { return spec_; }
  size_t size() const { return environments_.size(); }
  absl::StatusOr<Picture> Draw(size_t lane) const { return environments_[lane]->Draw(); }

  // Starts an episode and writes row `row` of `observations`.
  absl::Status Reset(size_t lane, absl::Span<void* const> observations, size_t row);

  // Takes row `action_row` of `actions` and writes row `row` of `observations` and `rewards`. INVALID_ARGUMENT if a
  // reward is not finite; else the environment's own errors.
  absl::StatusOr<StepOutcome> Step(size_t lane, absl::Span<const void* const> actions, size_t action_row,
                                   absl::Span<void* const> observations, absl::Span<float* const> rewards, size_t row);

 private:
  // An action leaf.
  struct Action {
    size_t bytes = 0;
    bool scaled = false;
    std::vector<float> values;  // One lane's, if it is scaled.
  };

  absl::Span<void* const> ObservationsOf(absl::Span<void* const> observations, size_t row);
  absl::Span<const void* const> ActionsOf(absl::Span<const void* const> actions, size_t row);
  // Writes row `row` of several leaves from a lane's rewards, which are back to back.
  void Scatter(absl::Span<float* const> rewards, size_t row) const;

  const std::vector<std::unique_ptr<Environment>> environments_;
  const EnvironmentSpec spec_;
  const std::string lane_name_;
  const size_t first_lane_;
  std::vector<size_t> observation_bytes_;
  std::vector<Action> actions_;
  std::vector<size_t> reward_elements_;
  std::vector<float> rewards_;  // One lane's, back to back; used if there are several leaves.

  // One lane's, by leaf.
  std::vector<void*> observation_pointers_;
  std::vector<const void*> action_pointers_;
};

}  // namespace waggle
