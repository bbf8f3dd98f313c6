#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "actor/environments/builtin/acrobot.h"
#include "actor/environments/builtin/cartpole.h"
#include "actor/environments/builtin/cartpole_hidden_velocity.h"
#include "actor/environments/builtin/mountain_car.h"
#include "actor/environments/builtin/mountain_car_confounded.h"
#include "actor/environments/builtin/mountain_car_continuous.h"
#include "actor/environments/builtin/pendulum.h"
#include "actor/environments/builtin/pendulum_hidden_velocity.h"
#include "common/base/random.h"
#include "tests/actor/environments/golden_trajectories.h"
#include "tests/support/catch.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

using testing::CheckFollowsGolden;
using testing::ValueOf;

TEST_CASE("the classics follow Gymnasium's recorded trajectories to 1e-6", "[unit]") {
  // Trajectories, and those that are terminated and truncated. CartPole's pole falls in the last step of one.
  CheckFollowsGolden<Acrobot>("acrobot_v1.txt", {4, 2, 2});
  CheckFollowsGolden<CartPole>("cartpole_v1.txt", {13, 11, 3});
  CheckFollowsGolden<MountainCar>("mountain_car_v0.txt", {5, 3, 2});
  CheckFollowsGolden<MountainCarContinuous>("mountain_car_continuous_v0.txt", {5, 3, 2});
  CheckFollowsGolden<Pendulum>("pendulum_v1.txt", {9, 0, 9});
}

// An element of first observations, which is spread evenly around its middle.
struct Start {
  size_t element;
  double middle;
  double farthest;
};

template <class Class>
void CheckStarts(const std::vector<Start>& starts) {
  constexpr int kEpisodes = 2000;
  Class environment(typename Class::Settings(), 5);
  std::vector<float> observation(static_cast<size_t>(environment.spec().observations[0].array.NumElements()));
  std::vector<double> sums(starts.size());
  std::vector<double> farthest(starts.size());
  for (int episode = 0; episode < kEpisodes; ++episode) {
    REQUIRE_OK(testing::ResetOneLeaf(&environment, observation.data()));
    for (size_t i = 0; i < starts.size(); ++i) {
      const double distance = static_cast<double>(observation[starts[i].element]) - starts[i].middle;
      sums[i] += distance;
      farthest[i] = std::max(farthest[i], std::abs(distance));
    }
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    INFO(environment.spec().name << ", element " << starts[i].element);
    CHECK(farthest[i] <= starts[i].farthest + 1e-7);
    CHECK(farthest[i] >= 0.99 * starts[i].farthest);
    // Six standard errors of a uniform angle's cosine; those of a uniform number are smaller.
    CHECK(std::abs(sums[i] / kEpisodes) <= 6 * starts[i].farthest / std::sqrt(2.0 * kEpisodes));
  }
}

TEST_CASE("the classics start where Gymnasium's do", "[unit]") {
  // Nearly still: the sines of small angles, and the speeds.
  CheckStarts<Acrobot>({{1, 0, 0.1}, {3, 0, 0.1}, {4, 0, 0.1}, {5, 0, 0.1}});
  CheckStarts<CartPole>({{0, 0, 0.05}, {1, 0, 0.05}, {2, 0, 0.05}, {3, 0, 0.05}});
  // At rest in the valley.
  CheckStarts<MountainCar>({{0, -0.5, 0.1}, {1, 0, 0}});
  CheckStarts<MountainCarContinuous>({{0, -0.5, 0.1}, {1, 0, 0}});
  CheckStarts<Pendulum>({{0, 0, 1}, {1, 0, 1}, {2, 0, 1}});
}

// `Hidden` shows some elements of what `Whole` shows, and is otherwise the same.
template <class Whole, class Hidden>
void CheckShows(const std::vector<size_t>& elements) {
  Whole whole(typename Whole::Settings(), 5);
  Hidden hidden(typename Whole::Settings(), 5);
  INFO(hidden.spec().name);
  Rng rng(3);
  std::vector<float> state(static_cast<size_t>(whole.spec().observations[0].array.NumElements()));
  std::vector<float> seen(elements.size() + 1, 7);
  int episodes = 0;
  bool ended = true;
  for (int t = 0; t < 1000; ++t) {
    if (ended) {
      REQUIRE_OK(testing::ResetOneLeaf(&whole, state.data()));
      REQUIRE_OK(testing::ResetOneLeaf(&hidden, seen.data()));
      ++episodes;
    }
    for (size_t i = 0; i < elements.size(); ++i) {
      REQUIRE(seen[i] == state[elements[i]]);
    }
    REQUIRE(seen.back() == 7);
    const auto choice = static_cast<int64_t>(rng.UniformInt(2));
    const auto number = static_cast<float>(rng.Uniform(-2, 2));
    const bool chooses = whole.spec().actions[0].kind == SpaceKind::kDiscrete;
    const void* const action = chooses ? static_cast<const void*>(&choice) : &number;
    const auto expected = ValueOf(testing::StepOneLeaf(&whole, action, state.data()));
    const auto outcome = ValueOf(testing::StepOneLeaf(&hidden, action, seen.data()));
    REQUIRE(outcome.reward == expected.reward);
    REQUIRE(outcome.terminated == expected.terminated);
    REQUIRE(outcome.truncated == expected.truncated);
    ended = outcome.terminated || outcome.truncated;
  }
  REQUIRE(episodes >= 5);
}

TEST_CASE("an environment with hidden velocities is the whole one that shows its place alone", "[unit]") {
  CheckShows<CartPole, CartPoleHiddenVelocity>({0, 2});
  CheckShows<Pendulum, PendulumHiddenVelocity>({0, 1});
}

TEST_CASE("Pendulum's vector reward has what its state and its torque cost", "[unit]") {
  PendulumSettings settings;
  settings.vector_reward = true;
  CHECK(Pendulum::Spec(settings).rewards == std::vector<ArraySpec>{{"reward", DType::kFloat32, {2}}});
  Pendulum whole({}, 3), parts(settings, 3);
  std::array<float, 3> state{};
  Rng rng(5);
  REQUIRE_OK(whole.Reset({state.data()}));
  REQUIRE_OK(parts.Reset({state.data()}));
  for (int step = 0; step < 50; ++step) {
    const auto torque = static_cast<float>(rng.Uniform(-2, 2));
    float reward = 0;
    std::array<float, 2> rewards{};
    REQUIRE_OK(whole.Step({&torque}, {state.data()}, &reward));
    REQUIRE_OK(parts.Step({&torque}, {state.data()}, rewards.data()));
    CHECK(rewards[1] == -torque * torque);
    CHECK(rewards[0] + 0.001F * rewards[1] == Approx(reward));
  }
}

TEST_CASE("MountainCarConfounded is MountainCar that also shows the previous action", "[unit]") {
  MountainCar car({}, 5);
  MountainCarConfounded confounded({}, 5);
  std::array<float, 2> state{};
  std::array<float, 2> shown{};
  int64_t previous = 7;
  Rng rng(3);
  for (int episode = 0; episode < 3; ++episode) {
    REQUIRE_OK(testing::ResetOneLeaf(&car, state.data()));
    REQUIRE_OK(confounded.Reset({shown.data(), &previous}));
    CHECK(shown == state);
    CHECK(previous == 1);
    for (bool goes_on = true; goes_on;) {
      const auto action = static_cast<int64_t>(rng.UniformInt(3));
      const auto expected = testing::ValueOf(testing::StepOneLeaf(&car, &action, state.data()));
      float reward = 0;
      const auto outcome = testing::ValueOf(confounded.Step({&action}, {shown.data(), &previous}, &reward));
      REQUIRE(shown == state);
      REQUIRE(previous == action);
      REQUIRE(reward == expected.reward);
      REQUIRE(outcome.terminated == expected.terminated);
      REQUIRE(outcome.truncated == expected.truncated);
      goes_on = !outcome.terminated && !outcome.truncated;
    }
  }
}

// The outer link's speed after one step from hanging still.
float SpeedAfter(Acrobot* environment, int64_t action) {
  float observation[6] = {};
  environment->ResetTo({}, observation);
  REQUIRE_OK(testing::StepOneLeaf(environment, &action, observation));
  return observation[5];
}

TEST_CASE("Acrobot's torque deviates by up to its noise", "[unit]") {
  Acrobot::Settings noisy;
  noisy.torque_noise = 0.5;
  Acrobot environment(noisy, 5);
  Acrobot exact(Acrobot::Settings(), 5);
  const int64_t no_torque = 1;
  const int64_t full_torque = 2;
  REQUIRE(std::abs(SpeedAfter(&exact, no_torque)) < 1e-6F);
  // Near rest, speed is proportional to torque.
  const float half_speed = SpeedAfter(&exact, full_torque) / 2;
  float least = 0;
  float most = 0;
  for (int i = 0; i < 500; ++i) {
    const float speed = SpeedAfter(&environment, no_torque);
    least = std::min(least, speed);
    most = std::max(most, speed);
  }
  REQUIRE(most <= 1.01F * half_speed);
  REQUIRE(most >= 0.95F * half_speed);
  REQUIRE(least >= -1.01F * half_speed);
  REQUIRE(least <= -0.95F * half_speed);
}

}  // namespace
}  // namespace waggle
