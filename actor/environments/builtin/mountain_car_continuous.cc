#include "actor/environments/builtin/mountain_car_continuous.h"

#include <algorithm>
#include <cmath>

#include "actor/environments/builtin/mountain_car_picture.h"
#include "actor/environments/element_access.h"

namespace waggle {
namespace {

constexpr float kMinPosition = -1.2F;
constexpr float kMaxPosition = 0.6F;
constexpr float kMaxSpeed = 0.07F;
constexpr float kGoal = 0.45F;

}  // namespace

void MountainCarContinuousSettings::Visit(ConfigVisitor& visitor) {
  visitor.Double("power", &power, In(0, 1));
  visitor.Double("gravity", &gravity, In(0, 1));
  visitor.Double("goal_speed", &goal_speed, In(0, 0.07));
  visitor.Int("max_episode_steps", &max_episode_steps, In(1, kMostEpisodeSteps));
}

EnvironmentSpec MountainCarContinuous::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "MountainCarContinuous-v0";
  spec.observations = {Box("observation", DType::kFloat32, {2}, {-1.2, -0.07}, {0.6, 0.07})};
  spec.actions = {Box("action", DType::kFloat32, {1}, -1, 1)};
  spec.max_episode_steps = settings.max_episode_steps;
  return spec;
}

MountainCarContinuous::MountainCarContinuous(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)), settings_(settings), rng_(seed) {}

void MountainCarContinuous::Start(absl::Span<void* const> observations) {
  ResetTo({rng_.Uniform(-0.6, -0.4), 0}, observations[0]);
}

// Gymnasium keeps the state as float32, and NumPy computes with it and with a float32 action as float32; only an
// episode's first step sees the start in float64.
bool MountainCarContinuous::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                    float* rewards) {
  const auto force = ElementAt<float>(actions[0]);
  const double scaled = 3 * state_[0];
  const double angle = steps() == 0 ? scaled : static_cast<double>(static_cast<float>(scaled));
  const float acceleration =
      force * static_cast<float>(settings_.power) - static_cast<float>(settings_.gravity * std::cos(angle));
  float speed = std::clamp(static_cast<float>(state_[1] + static_cast<double>(acceleration)), -kMaxSpeed, kMaxSpeed);
  const float position =
      std::clamp(static_cast<float>(state_[0] + static_cast<double>(speed)), kMinPosition, kMaxPosition);
  if (position == kMinPosition && speed < 0) {
    speed = 0;
  }
  const bool terminated = position >= kGoal && speed >= static_cast<float>(settings_.goal_speed);
  const double effort = static_cast<double>(force) * static_cast<double>(force) * 0.1;
  rewards[0] = static_cast<float>((terminated ? 100.0 : 0.0) - effort);
  state_ = {static_cast<double>(position), static_cast<double>(speed)};
  WriteFloats({state_[0], state_[1]}, observations[0]);
  return terminated;
}

void MountainCarContinuous::ResetTo(const State& state, void* observation) {
  BeginEpisode();
  state_ = state;
  WriteFloats({state[0], state[1]}, observation);
}

absl::StatusOr<Picture> MountainCarContinuous::Draw() const {
  return DrawMountainCar(state_[0], static_cast<double>(kGoal));
}

}  // namespace waggle
