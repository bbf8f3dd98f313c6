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

// `environment.options` of MountainCar-v0. The unit of time is a step.
struct MountainCarSettings {
  double force = 0.001;
  double gravity = 0.0025;
  double goal_speed = 0;  // The least speed at the goal.
  int64_t max_episode_steps = 200;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// A car that must rock to get out of a valley, accelerated to the left (0), not (1) or to the right (2): numerically
// equal to Gymnasium's MountainCar-v0. Reward -1 a step; terminated at position 0.5 and beyond, truncated after 200
// steps.
class MountainCar : public EpisodicEnvironment {
 public:
  using Settings = MountainCarSettings;
  // Position, in [-1.2, 0.6], and speed, within ±0.07.
  using State = std::array<double, 2>;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  MountainCar(const Settings& settings, uint64_t seed);

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
