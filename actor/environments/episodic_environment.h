#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/action_checker.h"
#include "actor/environments/environment.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The largest `max_episode_steps` that settings may have.
inline constexpr double kMostEpisodeSteps = 1e9;

// The base of all built-in environments. It refuses wrong actions and steps outside an episode, and truncates episodes
// after spec().max_episode_steps. A derived class defines an episode's start and an action's effect.
class EpisodicEnvironment : public Environment {
 public:
  EpisodicEnvironment(const EpisodicEnvironment&) = delete;
  EpisodicEnvironment& operator=(const EpisodicEnvironment&) = delete;

  const EnvironmentSpec& spec() const final { return spec_; }
  absl::Status Reset(absl::Span<void* const> observations) final;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) final;

 protected:
  explicit EpisodicEnvironment(EnvironmentSpec spec);

  // Draws the start of an episode and writes its observations.
  virtual void Start(absl::Span<void* const> observations) = 0;
  // Takes an action that the spec and the newest masks allow. Writes the resulting observations and all elements of all
  // rewards. Returns true if the new state is terminal.
  virtual bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) = 0;

  // The episode's steps so far, without the one under way.
  int64_t steps() const { return steps_; }
  // Begins an episode without a step yet, for starts that a test chooses. Reset calls it by itself.
  void BeginEpisode();

 private:
  const EnvironmentSpec spec_;
  ActionChecker checker_;
  int64_t steps_ = 0;
  bool running_ = false;
};

}  // namespace waggle
