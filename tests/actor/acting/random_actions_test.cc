#include "actor/acting/random_actions.h"

#include <cmath>
#include <set>
#include <vector>

#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("Random actions are within their spaces, and each choice is drawn", "[unit]") {
  EnvironmentSpec spec;
  spec.name = "X";
  spec.observations = {Box("observation/x", DType::kFloat32, {1})};
  spec.actions = {Discrete("action/choice", 3),
                  MultiDiscrete("action/choices", {2, 4}),
                  MultiBinary("action/flags", {2}),
                  Box("action/force", DType::kFloat32, {1}, -7, 9),
                  Box("action/free", DType::kFloat32, {1}),
                  Box("action/level", DType::kInt32, {1}, 2, 4)};
  REQUIRE_OK(spec.Validate());
  RandomActions random(spec, 2, Rng(1));
  const float shown[2] = {0, 0};
  void* const observations[] = {const_cast<float*>(shown)};
  const std::vector<int64_t> lanes = {0, 1};
  ReadyLanes ready;
  ready.lanes = lanes;
  ready.observations = observations;
  std::set<int64_t> choices;
  std::set<int64_t> seconds;
  std::set<int> flags;
  std::set<int32_t> levels;
  for (int i = 0; i < 200; ++i) {
    const auto actions = random.Draw(ready);
    for (int row = 0; row < 2; ++row) {
      choices.insert(static_cast<const int64_t*>(actions[0])[row]);
      CHECK(static_cast<const int64_t*>(actions[1])[2 * row] < 2);
      seconds.insert(static_cast<const int64_t*>(actions[1])[2 * row + 1]);
      flags.insert(static_cast<const bool*>(actions[2])[2 * row] ? 1 : 0);
      CHECK(std::abs(static_cast<const float*>(actions[3])[row]) <= 1);  // Not scaled yet.
      CHECK(std::isfinite(static_cast<const float*>(actions[4])[row]));
      levels.insert(static_cast<const int32_t*>(actions[5])[row]);
    }
  }
  CHECK(choices == std::set<int64_t>{0, 1, 2});
  CHECK(seconds == std::set<int64_t>{0, 1, 2, 3});
  CHECK(flags.size() == 2);
  CHECK(levels == std::set<int32_t>{2, 3, 4});
}

TEST_CASE("Random actions are allowed by their masks", "[unit]") {
  EnvironmentSpec spec;
  spec.name = "X";
  spec.observations = {Box("observation", DType::kFloat32, {1}), MultiBinary("action_mask", {7})};
  spec.actions = {MultiDiscrete("action", {3, 4})};
  REQUIRE_OK(spec.Validate());
  RandomActions random(spec, 1, Rng(1));
  float shown = 0;
  bool mask[7] = {true, false, true, false, false, true, false};
  void* const observations[] = {&shown, mask};
  const std::vector<int64_t> lanes = {0};
  ReadyLanes ready;
  ready.lanes = lanes;
  ready.observations = observations;
  std::set<std::vector<int64_t>> drawn;
  for (int i = 0; i < 100; ++i) {
    const auto* const action = static_cast<const int64_t*>(random.Draw(ready)[0]);
    drawn.insert({action[0], action[1]});
  }
  CHECK(drawn == std::set<std::vector<int64_t>>{{0, 2}, {2, 2}});
}

}  // namespace
}  // namespace waggle::testing
