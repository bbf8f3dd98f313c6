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

// `environment.options` of CartPole-v1 and CartPoleHiddenVelocity-v1, in SI units.
struct CartPoleSettings {
  double gravity = 9.8;
  double cart_mass = 1;
  double pole_mass = 0.1;
  double pole_half_length = 0.5;
  double force = 10;        // The force of a push.
  double time_step = 0.02;  // In seconds, of one Euler step.
  int64_t max_episode_steps = 500;
  bool sutton_barto_reward = false;  // 0 a step, and -1 for a terminal one, rather than 1 for each.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// A pole balanced on a cart that is pushed left (0) or right (1): numerically equal to Gymnasium's CartPole-v1. Reward
// 1 a step; terminated once the cart leaves +-2.4 or the pole +-12 degrees, truncated after max_episode_steps. A last
// step may be both.
class CartPole : public EpisodicEnvironment {
 public:
  using Settings = CartPoleSettings;
  // Cart position and speed, pole angle (radians) and angular speed.
  using State = std::array<double, 4>;

  enum class Shown {
    kState,      // CartPole-v1.
    kPositions,  // CartPoleHiddenVelocity-v1: the cart's position and the pole's angle alone.
  };

  static EnvironmentSpec Spec(const Settings& settings = Settings(), Shown shown = Shown::kState);

  CartPole(const Settings& settings, uint64_t seed, Shown shown = Shown::kState);

  // Starts a new episode from this state, to be compared with another implementation.
  void ResetTo(const State& state, void* observation);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // From a state uniform in [-0.05, 0.05] in each of its numbers.
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;
  void Show(void* observation) const;

  const Settings settings_;
  const double total_mass_;
  const double pole_mass_length_;
  const Shown shown_;
  State state_{};
  Rng rng_;
};

}  // namespace waggle
