#include "actor/environments/builtin/acrobot.h"

#include <algorithm>
#include <cmath>

#include "actor/environments/element_access.h"

namespace waggle {
namespace {

constexpr char kBook[] = "book";
constexpr double kStartBound = 0.1;
constexpr double kGoalHeight = 1;  // The height of the free end above the fixed joint.
constexpr double kMaxSpeed1 = 4 * M_PI;
constexpr double kMaxSpeed2 = 9 * M_PI;

// Moves an angle by whole turns into [-π, π].
double WrappedAngle(double angle) {
  while (angle > M_PI) {
    angle -= 2 * M_PI;
  }
  while (angle < -M_PI) {
    angle += 2 * M_PI;
  }
  return angle;
}

// The state after `seconds` of change at these rates.
Acrobot::State After(const Acrobot::State& state, double seconds, const Acrobot::State& rates) {
  Acrobot::State next;
  for (size_t i = 0; i < next.size(); ++i) {
    next[i] = state[i] + seconds * rates[i];
  }
  return next;
}

}  // namespace

void AcrobotSettings::Visit(ConfigVisitor& visitor) {
  visitor.Choice("dynamics", &dynamics, {kBook, "nips"});
  visitor.Double("gravity", &gravity, In(0, 100));
  visitor.Double("torque_noise", &torque_noise, In(0, 10));
  visitor.Double("time_step", &time_step, In(0.001, 0.2));
  visitor.Int("max_episode_steps", &max_episode_steps, In(1, kMostEpisodeSteps));
}

EnvironmentSpec Acrobot::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "Acrobot-v1";
  spec.observations = {Box("observation", DType::kFloat32, {6}, {-1, -1, -1, -1, -kMaxSpeed1, -kMaxSpeed2},
                           {1, 1, 1, 1, kMaxSpeed1, kMaxSpeed2})};
  spec.actions = {Discrete("action", 3)};
  spec.max_episode_steps = settings.max_episode_steps;
  return spec;
}

Acrobot::Acrobot(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)),
      settings_(settings),
      has_book_dynamics_(settings.dynamics == kBook),
      rng_(seed) {}

void Acrobot::Start(absl::Span<void* const> observations) {
  State start;
  for (double& value : start) {
    value = rng_.Uniform(-kStartBound, kStartBound);
  }
  ResetTo(start, observations[0]);
}

bool Acrobot::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  double torque = static_cast<double>(ElementAt<int64_t>(actions[0]) - 1);
  if (settings_.torque_noise > 0) {
    torque += rng_.Uniform(-settings_.torque_noise, settings_.torque_noise);
  }
  const double seconds = settings_.time_step;
  const State k1 = RatesOf(state_, torque);
  const State k2 = RatesOf(After(state_, seconds / 2, k1), torque);
  const State k3 = RatesOf(After(state_, seconds / 2, k2), torque);
  const State k4 = RatesOf(After(state_, seconds, k3), torque);
  State sum;
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] = k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i];
  }
  state_ = After(state_, seconds / 6, sum);
  state_ = {WrappedAngle(state_[0]), WrappedAngle(state_[1]), std::clamp(state_[2], -kMaxSpeed1, kMaxSpeed1),
            std::clamp(state_[3], -kMaxSpeed2, kMaxSpeed2)};
  const bool terminated = -std::cos(state_[0]) - std::cos(state_[1] + state_[0]) > kGoalHeight;
  rewards[0] = terminated ? 0 : -1;
  Show(observations[0]);
  return terminated;
}

// In Gymnasium's order of operations. Links have length 1, mass 1, their centre in the middle and a moment of inertia
// of 1.
Acrobot::State Acrobot::RatesOf(const State& state, double torque) const {
  const auto [angle1, angle2, speed1, speed2] = state;
  const double cosine = std::cos(angle2);
  const double sine = std::sin(angle2);
  const double d1 = 0.25 + (1.25 + cosine) + 1 + 1;
  const double d2 = (0.25 + 0.5 * cosine) + 1;
  const double phi2 = 0.5 * settings_.gravity * std::cos(angle1 + angle2 - M_PI / 2);
  const double phi1 = -0.5 * (speed2 * speed2) * sine - speed2 * speed1 * sine +
                      1.5 * settings_.gravity * std::cos(angle1 - M_PI / 2) + phi2;
  double force = torque + d2 / d1 * phi1;
  if (has_book_dynamics_) {
    force -= 0.5 * (speed1 * speed1) * sine;
  }
  const double acceleration2 = (force - phi2) / (1.25 - d2 * d2 / d1);
  return {speed1, speed2, -(d2 * acceleration2 + phi1) / d1, acceleration2};
}

void Acrobot::ResetTo(const State& state, void* observation) {
  BeginEpisode();
  state_ = state;
  Show(observation);
}

void Acrobot::Show(void* observation) const {
  WriteFloats(
      {std::cos(state_[0]), std::sin(state_[0]), std::cos(state_[1]), std::sin(state_[1]), state_[2], state_[3]},
      observation);
}

absl::StatusOr<Picture> Acrobot::Draw() const {
  Picture picture({-2.3, 2.3, -2.3, 2.3}, absl::Milliseconds(66));
  picture.DrawLine({-10, kGoalHeight}, {10, kGoalHeight}, 0.02, kSoft);
  const PlanePoint joint = {std::sin(state_[0]), -std::cos(state_[0])};
  const double angle = state_[0] + state_[1];
  picture.DrawLine({0, 0}, joint, 0.18, kBlue);
  picture.DrawLine(joint, {joint.x + std::sin(angle), joint.y - std::cos(angle)}, 0.18, kOrange);
  picture.DrawDisc({0, 0}, 0.08, kInk);
  picture.DrawDisc(joint, 0.08, kInk);
  return picture;
}

}  // namespace waggle
