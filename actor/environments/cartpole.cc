#include "actor/environments/cartpole.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

constexpr int64_t kMaxEpisodeSteps = 500;
constexpr int64_t kNumActions = 2;
constexpr double kStartBound = 0.05;

// SI units.
constexpr double kGravity = 9.8;
constexpr double kCartMass = 1.0;
constexpr double kPoleMass = 0.1;
constexpr double kTotalMass = kPoleMass + kCartMass;
constexpr double kHalfPoleLength = 0.5;
constexpr double kPoleMassLength = kPoleMass * kHalfPoleLength;
constexpr double kForce = 10.0;
constexpr double kTimeStep = 0.02;
constexpr double kPi = 3.14159265358979323846;
constexpr double kMaxAngle = 12 * 2 * kPi / 360;
constexpr double kMaxPosition = 2.4;

// One Euler step. The pole is unstable, so a difference in the last bit grows to a visible one within an episode: the
// order of every operation is Gymnasium's, and the compiler must not fuse any (see CMakeLists.txt).
CartPole::State Advance(const CartPole::State& state, double force) {
  const auto [x, x_dot, theta, theta_dot] = state;
  const double cos_theta = std::cos(theta);
  const double sin_theta = std::sin(theta);
  const double temp = (force + kPoleMassLength * (theta_dot * theta_dot) * sin_theta) / kTotalMass;
  const double theta_acceleration = (kGravity * sin_theta - cos_theta * temp) /
                                    (kHalfPoleLength * (4.0 / 3.0 - kPoleMass * (cos_theta * cos_theta) / kTotalMass));
  const double x_acceleration = temp - kPoleMassLength * theta_acceleration * cos_theta / kTotalMass;
  return {x + kTimeStep * x_dot, x_dot + kTimeStep * x_acceleration, theta + kTimeStep * theta_dot,
          theta_dot + kTimeStep * theta_acceleration};
}

bool IsTerminal(const CartPole::State& state) {
  return state[0] < -kMaxPosition || state[0] > kMaxPosition || state[2] < -kMaxAngle || state[2] > kMaxAngle;
}

}  // namespace

EnvironmentSpec CartPole::Spec(Shown shown) {
  EnvironmentSpec spec;
  spec.name = shown == Shown::kState ? "CartPole-v1" : "CartPoleHiddenVelocity-v1";
  spec.observations = {Box("observation", DType::kFloat32, {shown == Shown::kState ? 4 : 2})};
  spec.actions = {Discrete("action", kNumActions)};
  spec.max_episode_steps = kMaxEpisodeSteps;
  return spec;
}

EnvironmentDefinition CartPole::Definition(Shown shown) {
  EnvironmentDefinition definition;
  definition.description = shown == Shown::kState
                               ? "Balance a pole on a cart by pushing the cart left or right; Gymnasium's CartPole-v1"
                               : "CartPole-v1 that shows no velocities, for policies that remember";
  definition.spec = [shown](const EnvironmentOptions&) { return Spec(shown); };
  definition.create = [shown](const EnvironmentOptions&,
                              uint64_t seed) -> absl::StatusOr<std::unique_ptr<Environment>> {
    return std::make_unique<CartPole>(seed, shown);
  };
  return definition;
}

CartPole::CartPole(uint64_t seed, Shown shown) : shown_(shown), spec_(Spec(shown)), rng_(seed) {}

absl::Status CartPole::Reset(absl::Span<void* const> observations) {
  State start;
  for (double& value : start) {
    value = rng_.Uniform(-kStartBound, kStartBound);
  }
  ResetTo(start, observations[0]);
  return absl::OkStatus();
}

absl::StatusOr<StepOutcome> CartPole::Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                           float* rewards) {
  if (!running_) {
    return absl::FailedPreconditionError(
        absl::StrCat(spec_.name, ": a step after the episode's end; it wants a reset"));
  }
  int64_t choice = 0;
  std::memcpy(&choice, actions[0], sizeof(choice));
  if (choice < 0 || choice >= kNumActions) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec_.name, ": action ", choice, " is outside [0, ", kNumActions, ")"));
  }
  state_ = Advance(state_, choice == 1 ? kForce : -kForce);
  ++steps_;
  rewards[0] = 1;
  StepOutcome outcome;
  outcome.terminated = IsTerminal(state_);
  outcome.truncated = steps_ >= kMaxEpisodeSteps;
  running_ = !outcome.terminated && !outcome.truncated;
  WriteObservation(observations[0]);
  return outcome;
}

void CartPole::ResetTo(const State& state, void* observation) {
  state_ = state;
  steps_ = 0;
  running_ = true;
  WriteObservation(observation);
}

void CartPole::WriteObservation(void* observation) const {
  if (shown_ == Shown::kPositions) {
    const float values[2] = {static_cast<float>(state_[0]), static_cast<float>(state_[2])};
    std::memcpy(observation, values, sizeof(values));
    return;
  }
  std::array<float, 4> values;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(state_[i]);
  }
  std::memcpy(observation, values.data(), sizeof(values));
}

}  // namespace waggle
