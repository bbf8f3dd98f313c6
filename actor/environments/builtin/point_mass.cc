#include "actor/environments/builtin/point_mass.h"

#include <algorithm>
#include <cmath>

#include "actor/environments/element_access.h"

namespace waggle {
namespace {

constexpr double kEdge = 1;
constexpr double kTimeStep = 0.1;    // Seconds.
constexpr double kAcceleration = 2;  // Per second, by an action of 1.
constexpr double kDrag = 1;          // The share of the velocity that is lost per second.
constexpr double kMaxVelocity = kAcceleration / kDrag;

void Move(double action, PointMass::Coordinate* coordinate) {
  coordinate->velocity += kTimeStep * (kAcceleration * action - kDrag * coordinate->velocity);
  coordinate->position += kTimeStep * coordinate->velocity;
  if (std::abs(coordinate->position) > kEdge) {
    coordinate->position = std::copysign(kEdge, coordinate->position);
    coordinate->velocity = 0;
  }
}

// One coordinate's difference between the desired and the achieved goal.
double DifferenceToGoal(const PointMass::Coordinate& coordinate) {
  return static_cast<double>(static_cast<float>(coordinate.position)) -
         static_cast<double>(static_cast<float>(coordinate.goal));
}

}  // namespace

void PointMassSettings::Visit(ConfigVisitor& visitor) {
  visitor.Choice("reward", &reward, {"sparse", "dense"});
  if (visitor.Applies("goal_radius", reward == "sparse", "means nothing beside reward: dense; wanted none")) {
    visitor.Double("goal_radius", &goal_radius, Above(0, 2));
  }
  visitor.Int("max_episode_steps", &max_episode_steps, In(1, kMostEpisodeSteps));
}

EnvironmentSpec PointMass::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "PointMass-v0";
  spec.observations = {Box("observation/observation", DType::kFloat32, {4},
                           {-kEdge, -kEdge, -kMaxVelocity, -kMaxVelocity}, {kEdge, kEdge, kMaxVelocity, kMaxVelocity}),
                       Box("observation/achieved_goal", DType::kFloat32, {2}, -kEdge, kEdge),
                       Box("observation/desired_goal", DType::kFloat32, {2}, -kEdge, kEdge)};
  spec.actions = {Box("action", DType::kFloat32, {2}, -1, 1)};
  spec.max_episode_steps = settings.max_episode_steps;
  return spec;
}

PointMass::PointMass(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)),
      is_dense_(settings.reward == "dense"),
      goal_radius_(settings.goal_radius),
      rng_(seed) {}

void PointMass::ResetTo(const State& state, absl::Span<void* const> observations) {
  BeginEpisode();
  state_ = state;
  Show(observations);
}

void PointMass::Start(absl::Span<void* const> observations) {
  for (Coordinate* coordinate : {&state_.x, &state_.y}) {
    coordinate->position = rng_.Uniform(-kEdge, kEdge);
    coordinate->velocity = 0;
    coordinate->goal = rng_.Uniform(-kEdge, kEdge);
  }
  Show(observations);
}

bool PointMass::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  Move(static_cast<double>(ElementAt<float>(actions[0], 0)), &state_.x);
  Move(static_cast<double>(ElementAt<float>(actions[0], 1)), &state_.y);
  rewards[0] = Reward();
  Show(observations);
  return false;
}

float PointMass::Reward() const {
  const double distance = std::hypot(DifferenceToGoal(state_.x), DifferenceToGoal(state_.y));
  if (is_dense_) {
    return static_cast<float>(-distance);
  }
  return distance <= goal_radius_ ? 0.0F : -1.0F;
}

void PointMass::Show(absl::Span<void* const> observations) const {
  const auto& [x, y] = state_;
  WriteFloats({x.position, y.position, x.velocity, y.velocity}, observations[0]);
  WriteFloats({x.position, y.position}, observations[1]);
  WriteFloats({x.goal, y.goal}, observations[2]);
}

absl::StatusOr<Picture> PointMass::Draw() const {
  Picture picture({-1.1, 1.1, -1.1, 1.1}, absl::Seconds(kTimeStep));
  picture.FillRectangle({-1.1, -1.1}, {1.1, 1.1}, kSoft);
  picture.FillRectangle({-kEdge, -kEdge}, {kEdge, kEdge}, kPaper);
  const auto& [x, y] = state_;
  picture.DrawDisc({x.goal, y.goal}, goal_radius_, kGreen);
  picture.DrawDisc({x.position, y.position}, 0.04, kBlue);
  return picture;
}

}  // namespace waggle
