#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "common/base/random.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// A pendulum that a torque in [-2, 2] is to swing up and hold there: numerically equal to Gymnasium's Pendulum-v1. A
// step's reward is -(angle² + 0.1 speed² + 0.001 torque²), of the angle from upright in [-π, π) and the speed before
// the step. Episodes have 200 steps and are truncated, never terminated.
class Pendulum : public Environment {
 public:
  // Angle from upright, counted on over whole turns (radians), and angular speed, within ±8 radians a second.
  using State = std::array<double, 2>;

  static EnvironmentSpec Spec();
  // For the registry.
  static EnvironmentDefinition Definition();

  explicit Pendulum(uint64_t seed);

  const EnvironmentSpec& spec() const override { return spec_; }
  // Starts from an angle uniform in [-π, π] and a speed uniform in [-1, 1].
  absl::Status Reset(absl::Span<void* const> observations) override;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override;

  // Starts a new episode from this state, to be compared with another implementation.
  void ResetTo(const State& state, void* observation);

 private:
  // The angle's cosine and sine, and the speed.
  void WriteObservation(void* observation) const;

  const EnvironmentSpec spec_;
  Rng rng_;
  State state_{};
  int64_t steps_ = 0;
  bool running_ = false;
};

}  // namespace waggle
