#include "actor/environments/builtin/mountain_car.h"

#include <algorithm>
#include <cmath>

#include "actor/environments/builtin/mountain_car_picture.h"
#include "actor/environments/element_access.h"

namespace waggle {
namespace {

constexpr double kMinPosition = -1.2;
constexpr double kMaxPosition = 0.6;
constexpr double kMaxSpeed = 0.07;
constexpr double kGoal = 0.5;

}  // namespace

void MountainCarSettings::Visit(ConfigVisitor& visitor) {
  visitor.Double("force", &force, In(0, 1));
  visitor.Double("gravity", &gravity, In(0, 1));
  visitor.Double("goal_speed", &goal_speed, In(0, kMaxSpeed));
  visitor.Int("max_episode_steps", &max_episode_steps, In(1, kMostEpisodeSteps));
}

EnvironmentSpec MountainCar::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "MountainCar-v0";
  spec.observations = {Box("observation", DType::kFloat32, {2}, {kMinPosition, -kMaxSpeed}, {kMaxPosition, kMaxSpeed})};
  spec.actions = {Discrete("action", 3)};
  spec.max_episode_steps = settings.max_episode_steps;
  return spec;
}

MountainCar::MountainCar(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)), settings_(settings), rng_(seed) {}

void MountainCar::Start(absl::Span<void* const> observations) {
  ResetTo({rng_.Uniform(-0.6, -0.4), 0}, observations[0]);
}

bool MountainCar::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  auto [position, speed] = state_;
  const double push = static_cast<double>(ElementAt<int64_t>(actions[0]) - 1) * settings_.force;
  speed = std::clamp(speed + (push + std::cos(3 * position) * -settings_.gravity), -kMaxSpeed, kMaxSpeed);
  position = std::clamp(position + speed, kMinPosition, kMaxPosition);
  if (position == kMinPosition && speed < 0) {
    speed = 0;
  }
  state_ = {position, speed};
  rewards[0] = -1;
  WriteFloats({position, speed}, observations[0]);
  return position >= kGoal && speed >= settings_.goal_speed;
}

void MountainCar::ResetTo(const State& state, void* observation) {
  BeginEpisode();
  state_ = state;
  WriteFloats({state[0], state[1]}, observation);
}

absl::StatusOr<Picture> MountainCar::Draw() const {
  return DrawMountainCar(state_[0], kGoal);
}

}  // namespace waggle
