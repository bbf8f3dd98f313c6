#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "common/base/random.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// What a vector of environment lanes shows at one moment: row t of every lane's stream, before its action is chosen.
struct LaneObservations {
  const char* observations = nullptr;   // [lanes, …] as the spec says.
  const int32_t* step_types = nullptr;  // [lanes], each a StepType.
  const uint8_t* first = nullptr;       // [lanes]: whether the step type is kFirst.
};

// What a step led to in each lane; zeros in a lane that was at an episode's end.
struct LaneOutcomes {
  const float* rewards = nullptr;    // [lanes].
  const float* discounts = nullptr;  // [lanes]: 0 after a terminal state, else 1.
};

// An episode that ended.
struct FinishedEpisode {
  int64_t lane = 0;
  int64_t steps = 0;
  double total_reward = 0;
};

// `lanes` copies of an environment, seeded from `rng`. INVALID_ARGUMENT for less than one, or where the definition's
// own facts and a copy's differ.
absl::StatusOr<std::vector<std::unique_ptr<Environment>>> MakeEnvironments(const EnvironmentDefinition& definition,
                                                                           const EnvironmentOptions& options,
                                                                           int64_t lanes, Rng rng);

// Several copies of an environment, stepped together. An episode's final observation is a row like any other, of step
// type kLast, so that a policy sees it and a learner can bootstrap from it; the action chosen there is ignored, and the
// lane's next row is the first of a new episode. One thread.
class VectorEnvironment {
 public:
  // At least one, all of one spec: what MakeEnvironments returns.
  explicit VectorEnvironment(std::vector<std::unique_ptr<Environment>> environments);

  const EnvironmentSpec& spec() const { return spec_; }
  int64_t lanes() const { return static_cast<int64_t>(environments_.size()); }

  // Starts an episode in every lane.
  absl::Status Reset();

  // Takes actions, [lanes, …], and moves to the next row. After an error, which names the lane, only Reset may follow.
  absl::Status Step(const void* actions);

  // The present row. What it points to survives the next Step, but not the one after.
  LaneObservations current() const { return View(current_); }
  // What the last Step led to; stays as it is until the next one.
  LaneOutcomes outcomes() const { return {rewards_.data(), discounts_.data()}; }
  // The episodes that the last Step ended.
  const std::vector<FinishedEpisode>& finished() const { return finished_; }

  // Steps taken in environments since the beginning; starting an episode is none.
  int64_t env_steps() const { return env_steps_; }

 private:
  // Two of them take turns, so that a row can be recorded together with what its action led to.
  struct Frame {
    std::vector<char> observations;
    std::vector<int32_t> step_types;
    std::vector<uint8_t> first;
  };

  LaneObservations View(size_t frame) const;
  absl::Status StepLane(size_t lane, const char* action, Frame* next);
  absl::Status StartEpisode(size_t lane, Frame* frame);

  const std::vector<std::unique_ptr<Environment>> environments_;
  const EnvironmentSpec spec_;
  const size_t observation_bytes_;
  const size_t action_bytes_;
  std::array<Frame, 2> frames_;
  size_t current_ = 0;
  std::vector<float> rewards_;
  std::vector<float> discounts_;
  std::vector<FinishedEpisode> running_;  // By lane: the episode under way.
  std::vector<FinishedEpisode> finished_;
  int64_t env_steps_ = 0;
};

}  // namespace waggle
