#include "actor/environments/builtin/cartpole.h"

#include <cmath>

#include "actor/environments/element_access.h"

namespace waggle {
namespace {

constexpr double kStartBound = 0.05;
constexpr double kMaxAngle = 12 * 2 * M_PI / 360;
constexpr double kMaxPosition = 2.4;

bool IsTerminal(const CartPole::State& state) {
  return state[0] < -kMaxPosition || state[0] > kMaxPosition || state[2] < -kMaxAngle || state[2] > kMaxAngle;
}

}  // namespace

void CartPoleSettings::Visit(ConfigVisitor& visitor) {
  visitor.Double("gravity", &gravity, In(0, 100));
  visitor.Double("cart_mass", &cart_mass, In(0.01, 1000));
  visitor.Double("pole_mass", &pole_mass, In(0.001, 1000));
  visitor.Double("pole_half_length", &pole_half_length, In(0.01, 100));
  visitor.Double("force", &force, In(0, 10'000));
  visitor.Double("time_step", &time_step, In(0.0001, 1));
  visitor.Int("max_episode_steps", &max_episode_steps, In(1, kMostEpisodeSteps));
  visitor.Bool("sutton_barto_reward", &sutton_barto_reward);
}

EnvironmentSpec CartPole::Spec(const Settings& settings, Shown shown) {
  EnvironmentSpec spec;
  spec.name = shown == Shown::kState ? "CartPole-v1" : "CartPoleHiddenVelocity-v1";
  spec.observations = {Box("observation", DType::kFloat32, {shown == Shown::kState ? 4 : 2})};
  spec.actions = {Discrete("action", 2)};
  spec.max_episode_steps = settings.max_episode_steps;
  return spec;
}

CartPole::CartPole(const Settings& settings, uint64_t seed, Shown shown)
    : EpisodicEnvironment(Spec(settings, shown)),
      settings_(settings),
      total_mass_(settings.pole_mass + settings.cart_mass),
      pole_mass_length_(settings.pole_mass * settings.pole_half_length),
      shown_(shown),
      rng_(seed) {}

void CartPole::Start(absl::Span<void* const> observations) {
  State start;
  for (double& value : start) {
    value = rng_.Uniform(-kStartBound, kStartBound);
  }
  ResetTo(start, observations[0]);
}

// One Euler step. The pole is unstable, so a difference in the last bit grows to a visible one within an episode: the
// order of every operation is Gymnasium's, and the compiler must not fuse any (see CMakeLists.txt).
bool CartPole::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  const double force = ElementAt<int64_t>(actions[0]) == 1 ? settings_.force : -settings_.force;
  const auto [x, x_dot, theta, theta_dot] = state_;
  const double cos_theta = std::cos(theta);
  const double sin_theta = std::sin(theta);
  const double temp = (force + pole_mass_length_ * (theta_dot * theta_dot) * sin_theta) / total_mass_;
  const double theta_acceleration =
      (settings_.gravity * sin_theta - cos_theta * temp) /
      (settings_.pole_half_length * (4.0 / 3.0 - settings_.pole_mass * (cos_theta * cos_theta) / total_mass_));
  const double x_acceleration = temp - pole_mass_length_ * theta_acceleration * cos_theta / total_mass_;
  const double tau = settings_.time_step;
  state_ = {x + tau * x_dot, x_dot + tau * x_acceleration, theta + tau * theta_dot,
            theta_dot + tau * theta_acceleration};
  const bool terminated = IsTerminal(state_);
  rewards[0] = !settings_.sutton_barto_reward ? 1.0F : terminated ? -1.0F : 0.0F;
  Show(observations[0]);
  return terminated;
}

void CartPole::ResetTo(const State& state, void* observation) {
  BeginEpisode();
  state_ = state;
  Show(observation);
}

void CartPole::Show(void* observation) const {
  if (shown_ == Shown::kPositions) {
    WriteFloats({state_[0], state_[2]}, observation);
  } else {
    WriteFloats({state_[0], state_[1], state_[2], state_[3]}, observation);
  }
}

absl::StatusOr<Picture> CartPole::Draw() const {
  const double length = 2 * settings_.pole_half_length;
  Picture picture({-kMaxPosition - 0.4, kMaxPosition + 0.4, -0.6, length + 0.6}, absl::Seconds(settings_.time_step));
  picture.DrawLine({-10, 0}, {10, 0}, 0.02, kSoft);
  const double x = state_[0];
  picture.FillRectangle({x - 0.3, -0.15}, {x + 0.3, 0.15}, kInk);
  const PlanePoint axle = {x, 0.1};
  picture.DrawLine(axle, {axle.x + length * std::sin(state_[2]), axle.y + length * std::cos(state_[2])}, 0.1, kOrange);
  picture.DrawDisc(axle, 0.05, kBlue);
  return picture;
}

}  // namespace waggle
