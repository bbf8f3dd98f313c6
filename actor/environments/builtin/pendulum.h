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

// `environment.options` of Pendulum-v1 and PendulumHiddenVelocity-v1, in SI units.
struct PendulumSettings {
  double gravity = 10;
  double mass = 1;
  double length = 1;
  double max_torque = 2;
  double time_step = 0.05;  // In seconds, of one Euler step.
  int64_t max_episode_steps = 200;
  bool vector_reward = false;  // The reward is [-(angle² + 0.1 speed²), -torque²].

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// A pendulum that a torque in [-2, 2] must swing up and hold upright: numerically equal to Gymnasium's Pendulum-v1. A
// step's reward is -(angle² + 0.1 speed² + 0.001 torque²), of the angle from upright in [-π, π) and the speed before
// the step. Episodes have 200 steps and are truncated, never terminated.
class Pendulum : public EpisodicEnvironment {
 public:
  using Settings = PendulumSettings;
  // Angle from upright, counted on over whole turns (radians), and angular speed, within ±8 radians a second.
  using State = std::array<double, 2>;

  enum class Shown {
    kState,     // Pendulum-v1: the angle's cosine and sine, and the speed.
    kPosition,  // PendulumHiddenVelocity-v1: the angle's cosine and sine alone.
  };

  static EnvironmentSpec Spec(const Settings& settings = Settings(), Shown shown = Shown::kState);

  Pendulum(const Settings& settings, uint64_t seed, Shown shown = Shown::kState);

  // Starts a new episode from this state, to be compared with another implementation.
  void ResetTo(const State& state, void* observation);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // From an angle uniform in [-π, π] and a speed uniform in [-1, 1].
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;
  void Show(void* observation) const;

  const Settings settings_;
  const Shown shown_;
  State state_{};
  Rng rng_;
};

}  // namespace waggle
