#include "actor/environments/pendulum.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

constexpr char kName[] = "Pendulum-v1";
constexpr int64_t kMaxEpisodeSteps = 200;
constexpr double kPi = 3.14159265358979323846;
constexpr double kMaxStartSpeed = 1;

// SI units.
constexpr double kGravity = 10;
constexpr double kMass = 1;
constexpr double kLength = 1;
constexpr double kTimeStep = 0.05;
constexpr double kMaxSpeed = 8;
constexpr float kMaxTorque = 2;

// Into [-π, π). The remainder has the divisor's sign, as Python's has.
double NormalizedAngle(double angle) {
  constexpr double kTurn = 2 * kPi;
  double remainder = std::fmod(angle + kPi, kTurn);
  if (remainder < 0) {
    remainder += kTurn;
  }
  return remainder - kPi;
}

// NumPy multiplies a float32 torque by a Python number as float32.
double Cost(const Pendulum::State& state, float torque) {
  const double angle = NormalizedAngle(state[0]);
  return angle * angle + 0.1 * (state[1] * state[1]) + static_cast<double>(0.001F * (torque * torque));
}

// One Euler step, in Gymnasium's order of operations.
Pendulum::State Advance(const Pendulum::State& state, float torque) {
  const auto [angle, speed] = state;
  constexpr auto kTorqueFactor = static_cast<float>(3.0 / (kMass * (kLength * kLength)));
  const double acceleration =
      3 * kGravity / (2 * kLength) * std::sin(angle) + static_cast<double>(kTorqueFactor * torque);
  const double next_speed = std::clamp(speed + acceleration * kTimeStep, -kMaxSpeed, kMaxSpeed);
  return {angle + next_speed * kTimeStep, next_speed};
}

}  // namespace

EnvironmentSpec Pendulum::Spec() {
  EnvironmentSpec spec;
  spec.name = kName;
  spec.observations = {Box("observation", DType::kFloat32, {3}, {-1, -1, -kMaxSpeed}, {1, 1, kMaxSpeed})};
  spec.actions = {Box("action", DType::kFloat32, {1}, -static_cast<double>(kMaxTorque), kMaxTorque)};
  spec.max_episode_steps = kMaxEpisodeSteps;
  return spec;
}

EnvironmentDefinition Pendulum::Definition() {
  EnvironmentDefinition definition;
  definition.description = "Swing a pendulum up by a torque and hold it there; Gymnasium's Pendulum-v1";
  definition.spec = [](const EnvironmentOptions&) { return Spec(); };
  definition.create = [](const EnvironmentOptions&, uint64_t seed) -> absl::StatusOr<std::unique_ptr<Environment>> {
    return std::make_unique<Pendulum>(seed);
  };
  return definition;
}

Pendulum::Pendulum(uint64_t seed) : spec_(Spec()), rng_(seed) {}

absl::Status Pendulum::Reset(absl::Span<void* const> observations) {
  const double angle = rng_.Uniform(-kPi, kPi);
  ResetTo({angle, rng_.Uniform(-kMaxStartSpeed, kMaxStartSpeed)}, observations[0]);
  return absl::OkStatus();
}

absl::StatusOr<StepOutcome> Pendulum::Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                           float* rewards) {
  if (!running_) {
    return absl::FailedPreconditionError(absl::StrCat(kName, ": a step after the episode's end; it wants a reset"));
  }
  float torque = 0;
  std::memcpy(&torque, actions[0], sizeof(torque));
  if (!(std::abs(torque) <= kMaxTorque)) {  // NaN is no action either.
    return absl::InvalidArgumentError(
        absl::StrCat(kName, ": action ", torque, " is outside [", -kMaxTorque, ", ", kMaxTorque, "]"));
  }
  rewards[0] = static_cast<float>(-Cost(state_, torque));
  state_ = Advance(state_, torque);
  ++steps_;
  StepOutcome outcome;
  outcome.truncated = steps_ >= kMaxEpisodeSteps;
  running_ = !outcome.truncated;
  WriteObservation(observations[0]);
  return outcome;
}

void Pendulum::ResetTo(const State& state, void* observation) {
  state_ = state;
  steps_ = 0;
  running_ = true;
  WriteObservation(observation);
}

void Pendulum::WriteObservation(void* observation) const {
  const float values[3] = {static_cast<float>(std::cos(state_[0])), static_cast<float>(std::sin(state_[0])),
                           static_cast<float>(state_[1])};
  std::memcpy(observation, values, sizeof(values));
}

}  // namespace waggle
