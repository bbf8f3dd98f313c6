#include "actor/environments/builtin/pendulum.h"

#include <algorithm>
#include <cmath>

#include "actor/environments/element_access.h"

namespace waggle {
namespace {

constexpr double kMaxStartSpeed = 1;
constexpr double kMaxSpeed = 8;

// Moves an angle into [-π, π). The remainder has the divisor's sign, as in Python.
double NormalizedAngle(double angle) {
  constexpr double kTurn = 2 * M_PI;
  double remainder = std::fmod(angle + M_PI, kTurn);
  if (remainder < 0) {
    remainder += kTurn;
  }
  return remainder - M_PI;
}

// The cost of the state, without the torque.
double Cost(const Pendulum::State& state) {
  const double angle = NormalizedAngle(state[0]);
  return angle * angle + 0.1 * (state[1] * state[1]);
}

}  // namespace

void PendulumSettings::Visit(ConfigVisitor& visitor) {
  visitor.Double("gravity", &gravity, In(0, 100));
  visitor.Double("mass", &mass, In(0.01, 1000));
  visitor.Double("length", &length, In(0.01, 100));
  visitor.Double("max_torque", &max_torque, In(0.001, 10'000));
  visitor.Double("time_step", &time_step, In(0.0001, 1));
  visitor.Int("max_episode_steps", &max_episode_steps, In(1, kMostEpisodeSteps));
  visitor.Bool("vector_reward", &vector_reward);
}

EnvironmentSpec Pendulum::Spec(const Settings& settings, Shown shown) {
  EnvironmentSpec spec;
  if (shown == Shown::kState) {
    spec.name = "Pendulum-v1";
    spec.observations = {Box("observation", DType::kFloat32, {3}, {-1, -1, -kMaxSpeed}, {1, 1, kMaxSpeed})};
  } else {
    spec.name = "PendulumHiddenVelocity-v1";
    spec.observations = {Box("observation", DType::kFloat32, {2}, -1, 1)};
  }
  spec.actions = {Box("action", DType::kFloat32, {1}, -settings.max_torque, settings.max_torque)};
  spec.max_episode_steps = settings.max_episode_steps;
  if (settings.vector_reward) {
    spec.rewards = {ArraySpec{kRewardRoot, DType::kFloat32, {2}}};
  }
  return spec;
}

Pendulum::Pendulum(const Settings& settings, uint64_t seed, Shown shown)
    : EpisodicEnvironment(Spec(settings, shown)), settings_(settings), shown_(shown), rng_(seed) {}

void Pendulum::Start(absl::Span<void* const> observations) {
  const double angle = rng_.Uniform(-M_PI, M_PI);
  ResetTo({angle, rng_.Uniform(-kMaxStartSpeed, kMaxStartSpeed)}, observations[0]);
}

// One Euler step, in Gymnasium's order of operations.
bool Pendulum::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  const auto torque = ElementAt<float>(actions[0]);
  if (settings_.vector_reward) {
    rewards[0] = static_cast<float>(-Cost(state_));
    rewards[1] = -(torque * torque);
  } else {  // NumPy multiplies a float32 torque by a Python number as float32.
    rewards[0] = static_cast<float>(-(Cost(state_) + static_cast<double>(0.001F * (torque * torque))));
  }
  const auto [angle, speed] = state_;
  const auto torque_factor = static_cast<float>(3.0 / (settings_.mass * (settings_.length * settings_.length)));
  const double acceleration =
      3 * settings_.gravity / (2 * settings_.length) * std::sin(angle) + static_cast<double>(torque_factor * torque);
  const double next_speed = std::clamp(speed + acceleration * settings_.time_step, -kMaxSpeed, kMaxSpeed);
  state_ = {angle + next_speed * settings_.time_step, next_speed};
  Show(observations[0]);
  return false;
}

void Pendulum::ResetTo(const State& state, void* observation) {
  BeginEpisode();
  state_ = state;
  Show(observation);
}

void Pendulum::Show(void* observation) const {
  const double cosine = std::cos(state_[0]);
  const double sine = std::sin(state_[0]);
  if (shown_ == Shown::kPosition) {
    WriteFloats({cosine, sine}, observation);
  } else {
    WriteFloats({cosine, sine, state_[1]}, observation);
  }
}

absl::StatusOr<Picture> Pendulum::Draw() const {
  Picture picture({-1.3, 1.3, -1.3, 1.3}, absl::Seconds(settings_.time_step));
  picture.DrawLine({0, 0}, {-std::sin(state_[0]), std::cos(state_[0])}, 0.2, kOrange);
  picture.DrawDisc({0, 0}, 0.06, kInk);
  return picture;
}

}  // namespace waggle
