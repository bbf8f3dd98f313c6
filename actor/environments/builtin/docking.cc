#include "actor/environments/builtin/docking.h"

#include <algorithm>
#include <cmath>

#include "actor/environments/element_access.h"

namespace waggle {
namespace {

constexpr double kEdge = 1.5;
constexpr double kMaxVelocity = 2;
constexpr double kTimeStep = 0.2;
constexpr int64_t kBrake = 2;
constexpr double kLeftByBrake = 0.25;

}  // namespace

void DockingSettings::Visit(ConfigVisitor& visitor) {
  visitor.Double("dock_radius", &dock_radius, Above(0, 2));
  visitor.Double("dock_speed", &dock_speed, Above(0, 3));
  visitor.Int("max_episode_steps", &max_episode_steps, In(1, kMostEpisodeSteps));
}

EnvironmentSpec Docking::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "Docking-v0";
  spec.observations = {Box("observation", DType::kFloat32, {4}, {-kEdge, -kEdge, -kMaxVelocity, -kMaxVelocity},
                           {kEdge, kEdge, kMaxVelocity, kMaxVelocity})};
  spec.actions = {Discrete("action/thruster", 3), Box("action/thrust", DType::kFloat32, {1}, -1, 1)};
  spec.max_episode_steps = settings.max_episode_steps;
  return spec;
}

Docking::Docking(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)), settings_(settings), rng_(seed) {}

void Docking::ResetTo(const State& state, void* observation) {
  BeginEpisode();
  state_ = state;
  WriteFloats({state[0], state[1], state[2], state[3]}, observation);
}

void Docking::Start(absl::Span<void* const> observations) {
  const double x = rng_.Uniform(-1, 1);
  ResetTo({x, rng_.Uniform(-1, 1), 0, 0}, observations[0]);
}

bool Docking::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  const auto thruster = ElementAt<int64_t>(actions[0]);
  const auto thrust = static_cast<double>(ElementAt<float>(actions[1]));
  for (const size_t axis : {size_t{0}, size_t{1}}) {
    double& position = state_[axis];
    double& velocity = state_[2 + axis];
    if (thruster == kBrake) {
      velocity *= kLeftByBrake;
    } else if (thruster == static_cast<int64_t>(axis)) {
      velocity = std::clamp(velocity + thrust, -kMaxVelocity, kMaxVelocity);
    }
    position += kTimeStep * velocity;
    if (std::abs(position) > kEdge) {
      position = std::copysign(kEdge, position);
      velocity = 0;
    }
  }
  const auto& [x, y, speed_x, speed_y] = state_;
  const double distance = std::hypot(x, y);
  rewards[0] = static_cast<float>(-distance);
  WriteFloats({x, y, speed_x, speed_y}, observations[0]);
  return distance <= settings_.dock_radius && std::hypot(speed_x, speed_y) <= settings_.dock_speed;
}

absl::StatusOr<Picture> Docking::Draw() const {
  Picture picture({-kEdge, kEdge, -kEdge, kEdge}, absl::Seconds(kTimeStep));
  picture.FillRectangle({-kEdge, -kEdge}, {kEdge, kEdge}, kPaper);
  picture.DrawDisc({0, 0}, settings_.dock_radius, kGreen);
  picture.DrawDisc({state_[0], state_[1]}, 0.06, kBlue);
  return picture;
}

}  // namespace waggle
