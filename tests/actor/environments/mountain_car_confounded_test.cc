#include "actor/environments/mountain_car_confounded.h"

#include <array>

#include "common/base/random.h"
#include "tests/support/catch.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

TEST_CASE("MountainCarConfounded is MountainCar that also shows the previous action", "[unit]") {
  MountainCar car({}, 5);
  MountainCarConfounded confounded({}, 5);
  std::array<float, 2> state{};
  std::array<float, 2> shown{};
  int64_t previous = 7;
  Rng rng(3);
  int episodes = 0;
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
    ++episodes;
  }
  CHECK(episodes == 3);
}

}  // namespace
}  // namespace waggle
