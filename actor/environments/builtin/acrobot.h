#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `environment.options` of Acrobot-v1, in SI units.
struct AcrobotSettings {
  // The equations of motion: book, of Sutton and Barto's "Reinforcement Learning", or nips, of Sutton's "Generalization
  // in Reinforcement Learning" (1995), which lack a term.
  std::string dynamics = "book";
  double gravity = 9.8;
  double torque_noise = 0;  // Each step's torque is off by a number uniform in ± this.
  double time_step = 0.2;   // In seconds, of one step of fourth-order Runge-Kutta.
  int64_t max_episode_steps = 500;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Two links that hang from a fixed joint, swung up by a torque of -1, 0 or 1 (actions 0, 1, 2) in the joint between
// them: numerically equal to Gymnasium's Acrobot-v1. Terminated once the free end is more than a link's length above
// the fixed joint, with a reward of 0; every other step's is -1. Truncated after 500 steps.
class Acrobot : public EpisodicEnvironment {
 public:
  using Settings = AcrobotSettings;
  // The first link's angle from hanging down, the second's from the first's (radians, in [-π, π]), and their speeds,
  // within ±4π and ±9π radians a second.
  using State = std::array<double, 4>;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  Acrobot(const Settings& settings, uint64_t seed);

  // Starts a new episode from this state, to be compared with another implementation.
  void ResetTo(const State& state, void* observation);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // From a state uniform in [-0.1, 0.1] in each of its numbers.
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;

  // The rate of change of each number of the state under a torque.
  State RatesOf(const State& state, double torque) const;
  // Both angles' cosines and sines, and the speeds.
  void Show(void* observation) const;

  const Settings settings_;
  const bool has_book_dynamics_;
  State state_{};
  Rng rng_;
};

}  // namespace waggle
