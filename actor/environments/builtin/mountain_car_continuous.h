#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `environment.options` of MountainCarContinuous-v0. The unit of time is a step.
struct MountainCarContinuousSettings {
  double power = 0.0015;  // The acceleration by an action of 1.
  double gravity = 0.0025;
  double goal_speed = 0;  // The least speed at the goal.
  int64_t max_episode_steps = 999;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// MountainCar accelerated by any force in [-1, 1]: numerically equal to Gymnasium's MountainCarContinuous-v0. A step's
// reward is -0.1 force², and 100 more for the one that reaches the goal, at position 0.45 and beyond, where the episode
// is terminated; truncated after 999 steps.
class MountainCarContinuous : public EpisodicEnvironment {
 public:
  using Settings = MountainCarContinuousSettings;
  // Position, in [-1.2, 0.6], and speed, within ±0.07. From the first step on they are float32 numbers.
  using State = std::array<double, 2>;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  MountainCarContinuous(const Settings& settings, uint64_t seed);

  // Starts a new episode from this state, to be compared with another implementation.
  void ResetTo(const State& state, void* observation);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // At rest, from a position uniform in [-0.6, -0.4].
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;

  const Settings settings_;
  State state_{};
  Rng rng_;
};

}  // namespace waggle
