#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "common/base/random.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// A pole balanced on a cart that is pushed left (0) or right (1): numerically equal to Gymnasium's CartPole-v1. Reward
// 1 a step; terminated once the cart leaves +-2.4 or the pole +-12 degrees, truncated after 500 steps. In a last step
// that does both, both are set. CartPoleHiddenVelocity-v1 is the same but for its observations.
class CartPole : public Environment {
 public:
  // Cart position and speed, pole angle (radians) and angular speed.
  using State = std::array<double, 4>;

  enum class Shown {
    kState,      // CartPole-v1.
    kPositions,  // CartPoleHiddenVelocity-v1: the cart's position and the pole's angle alone.
  };

  static EnvironmentSpec Spec(Shown shown = Shown::kState);
  // For the registry.
  static EnvironmentDefinition Definition(Shown shown = Shown::kState);

  explicit CartPole(uint64_t seed, Shown shown = Shown::kState);

  const EnvironmentSpec& spec() const override { return spec_; }
  // Starts from a state uniform in [-0.05, 0.05] in each of its numbers.
  absl::Status Reset(absl::Span<void* const> observations) override;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override;

  // Starts a new episode from this state, to be compared with another implementation.
  void ResetTo(const State& state, void* observation);

 private:
  void WriteObservation(void* observation) const;

  const Shown shown_;
  const EnvironmentSpec spec_;
  Rng rng_;
  State state_{};
  int64_t steps_ = 0;
  bool running_ = false;
};

}  // namespace waggle
