#include "actor/environments/builtin/deep_sea.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

struct Dive {
  explicit Dive(const DeepSeaSettings& settings, uint64_t seed = 1)
      : environment(settings, seed), shown(static_cast<size_t>(settings.size * settings.size), 7.0F) {
    Reset();
  }

  void Reset() { REQUIRE_OK(testing::ResetOneLeaf(&environment, shown.data())); }
  testing::OneLeafOutcome Step(int64_t action) {
    return testing::ValueOf(testing::StepOneLeaf(&environment, &action, shown.data()));
  }
  // The cell whose element is 1, while all others are 0; -1: all are 0.
  int64_t Cell() const {
    const auto ones = std::count(shown.begin(), shown.end(), 1.0F);
    const auto zeros = std::count(shown.begin(), shown.end(), 0.0F);
    REQUIRE(ones <= 1);
    REQUIRE(ones + zeros == static_cast<int64_t>(shown.size()));
    return ones == 0 ? -1 : std::find(shown.begin(), shown.end(), 1.0F) - shown.begin();
  }

  DeepSea environment;
  std::vector<float> shown;
};

DeepSeaSettings Plain(int64_t size) {
  DeepSeaSettings settings;
  settings.size = size;
  settings.randomize_actions = false;
  return settings;
}

TEST_CASE("a dive that always goes right earns 1, less a cost for each move", "[unit]") {
  Dive dive(Plain(3));
  CHECK(dive.Cell() == 0);
  for (const int64_t cell : {4, 8}) {
    const auto outcome = dive.Step(1);
    CHECK(dive.Cell() == cell);
    CHECK(outcome.reward == Approx(-0.01 / 3));
    CHECK_FALSE(outcome.terminated);
  }
  const auto outcome = dive.Step(1);
  CHECK(dive.Cell() == -1);
  CHECK(outcome.reward == Approx(1 - 0.01 / 3));
  CHECK(outcome.terminated);
  CHECK_FALSE(outcome.truncated);
}

TEST_CASE("a dive that goes left once earns nothing, and left costs nothing", "[unit]") {
  Dive dive(Plain(3));
  std::vector<int64_t> cells;
  std::vector<float> rewards;
  for (const int64_t action : {0, 1, 1}) {
    rewards.push_back(dive.Step(action).reward);
    cells.push_back(dive.Cell());
  }
  CHECK(cells == std::vector<int64_t>{3, 7, -1});
  CHECK(rewards[0] == 0);
  CHECK(rewards[1] == Approx(-0.01 / 3));
  CHECK(rewards[2] == Approx(-0.01 / 3));
  dive.Reset();
  dive.Step(1);
  CHECK(dive.Step(0).reward == 0);
  CHECK(dive.Cell() == 6);
}

// For each cell above the diagonal, and on it, the action that goes right: found by trying both.
std::string MapOf(int64_t size, int64_t seed_of_map, uint64_t seed) {
  DeepSeaSettings settings;
  settings.size = size;
  settings.seed_of_map = seed_of_map;
  Dive dive(settings, seed);
  std::string map;
  for (int64_t column = 0; column < size; ++column) {
    std::vector<int64_t> path;  // Goes to this column, then down along the left.
    for (int64_t row = 0; row < size; ++row) {
      int64_t right = -1;
      for (const int64_t action : {0, 1}) {
        dive.Reset();
        for (const int64_t before : path) {
          dive.Step(before);
        }
        right = dive.Step(action).reward != 0 ? action : right;
      }
      REQUIRE(right >= 0);
      map += static_cast<char>('0' + right);
      path.push_back(row < column ? right : 1 - right);
    }
  }
  return map;
}

TEST_CASE("the actions that go right follow from the seed of the map alone", "[unit]") {
  const std::string map = MapOf(8, 3, 1);
  CHECK(map == MapOf(8, 3, 2));
  CHECK(map != MapOf(8, 4, 1));
  const auto ones = std::count(map.begin(), map.end(), '1');
  CHECK(ones > 16);
  CHECK(ones < 48);
}

TEST_CASE("a seed of the map is refused if the map has no random actions", "[unit]") {
  EnvironmentOptions options;
  options.options = "{randomize_actions: false, seed_of_map: 5}";
  const absl::Status refused = (*testing::ValueOf(BuiltinEnvironments().Find("DeepSea-v0"))).spec(options).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("seed_of_map: "));
}

}  // namespace
}  // namespace waggle
