#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environment_lanes.h"
#include "actor/environments/environment.h"
#include "actor/leaf_arrays.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// What a vector of environment lanes shows at one moment: row t of every lane's stream, before its action is chosen.
struct LaneObservations {
  absl::Span<void* const> observations;  // One array for each of the spec's observation leaves, [lanes, …].
  const int32_t* step_types = nullptr;   // [lanes], each a StepType.
  const uint8_t* first = nullptr;        // [lanes]: whether the step type is kFirst.
};

// What a step led to in each lane; zeros in a lane that was at an episode's end.
struct LaneOutcomes {
  absl::Span<const float* const> rewards;  // One array for each of the spec's reward leaves, [lanes, …].
  const float* discounts = nullptr;        // [lanes]: 0 after a terminal state, else 1.
};

// An episode that ended.
struct FinishedEpisode {
  int64_t lane = 0;
  int64_t steps = 0;
  double total_reward = 0;  // Of the steps' scalar rewards: see ScalarReward.
};

// Several copies of an environment, stepped together. An episode's final observation is a row like any other, of step
// type kLast, so that a policy sees it and a learner can bootstrap from it; the action chosen there is ignored, and the
// lane's next row is the first of a new episode. One thread.
class VectorEnvironment {
 public:
  // At least one, all of one spec: what MakeEnvironments returns.
  explicit VectorEnvironment(std::vector<std::unique_ptr<Environment>> environments);

  const EnvironmentSpec& spec() const { return environments_.spec(); }
  int64_t lanes() const { return static_cast<int64_t>(environments_.size()); }

  // Starts an episode in every lane.
  absl::Status Reset();

  // Takes actions, one array [lanes, …] for each of the spec's action leaves, and moves to the next row. After an
  // error, which names the lane, only Reset may follow.
  absl::Status Step(absl::Span<const void* const> actions);

  // The present row. What it points to survives the next Step, but not the one after.
  LaneObservations current() const { return View(current_); }
  // What the last Step led to; stays as it is until the next one.
  LaneOutcomes outcomes() const { return {reward_pointers_, discounts_.data()}; }
  // The episodes that the last Step ended.
  const std::vector<FinishedEpisode>& finished() const { return finished_; }

  // Steps taken in environments since the beginning; starting an episode is none.
  int64_t env_steps() const { return env_steps_; }

 private:
  // Two of them take turns, so that a row can be recorded together with what its action led to.
  struct Frame {
    LeafArrays observations;
    std::vector<int32_t> step_types;
    std::vector<uint8_t> first;
  };

  LaneObservations View(size_t frame) const;
  Frame NewFrame() const;
  absl::Status StepLane(size_t lane, absl::Span<const void* const> actions, Frame* next);
  absl::Status StartEpisode(size_t lane, Frame* frame);

  EnvironmentLanes environments_;
  std::array<Frame, 2> frames_;
  size_t current_ = 0;
  std::vector<size_t> reward_dimensions_;    // By reward leaf.
  std::vector<std::vector<float>> rewards_;  // By reward leaf, [lanes, …].
  std::vector<const float*> reward_pointers_;
  std::vector<float> discounts_;
  std::vector<FinishedEpisode> running_;  // By lane: the episode under way.
  std::vector<FinishedEpisode> finished_;
  int64_t env_steps_ = 0;
};

}  // namespace waggle
