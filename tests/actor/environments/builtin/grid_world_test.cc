#include "actor/environments/builtin/grid_world.h"

#include <array>
#include <map>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/chi_square.h"

namespace waggle {
namespace {

using Mask = std::array<bool, 4>;  // Left, down, right, up.

constexpr int64_t kLeft = 0;
constexpr int64_t kDown = 1;
constexpr int64_t kRight = 2;
constexpr int64_t kUp = 3;

struct Walk {
  explicit Walk(const GridWorldSettings& settings) : environment(settings, 1) { Reset(); }

  void Reset() { REQUIRE_OK(environment.Reset({&cell, mask.data()})); }
  void ResetUntilAt(int64_t start) {
    for (int i = 0; cell != start && i < 1000; ++i) {
      Reset();
    }
    REQUIRE(cell == start);
  }
  absl::StatusOr<StepOutcome> TryMove(int64_t action) {
    return environment.Step({&action}, {&cell, mask.data()}, &reward);
  }
  StepOutcome Move(int64_t action) { return testing::ValueOf(TryMove(action)); }

  GridWorld environment;
  int64_t cell = 0;
  Mask mask{};
  float reward = 7;
};

GridWorldSettings Grid(int64_t width, int64_t height, std::vector<int64_t> walls, double slip = 0) {
  GridWorldSettings settings;
  settings.width = width;
  settings.height = height;
  settings.walls = std::move(walls);
  settings.slip = slip;
  return settings;
}

// 0 # 2
// 3 4 5, which is the goal.
TEST_CASE("a walk around a wall ends at the goal with the only reward", "[unit]") {
  Walk walk(Grid(3, 2, {1}));
  walk.ResetUntilAt(0);
  CHECK(walk.mask == Mask{false, true, false, false});
  CHECK_FALSE(walk.Move(kDown).terminated);
  CHECK(walk.cell == 3);
  CHECK(walk.mask == Mask{false, false, true, true});
  CHECK(walk.reward == 0);
  CHECK_FALSE(walk.Move(kRight).terminated);
  CHECK(walk.cell == 4);
  CHECK(walk.mask == Mask{true, false, true, false});
  CHECK(walk.reward == 0);
  CHECK(walk.Move(kRight).terminated);
  CHECK(walk.cell == 5);
  CHECK(walk.mask == Mask{true, false, false, true});
  CHECK(walk.reward == 1);

  walk.ResetUntilAt(4);
  CHECK_FALSE(walk.Move(kLeft).terminated);
  CHECK_FALSE(walk.Move(kUp).terminated);
  CHECK(walk.cell == 0);
  walk.ResetUntilAt(2);
  CHECK(walk.mask == Mask{false, true, false, false});
  CHECK(walk.Move(kDown).terminated);
}

TEST_CASE("a move against a wall or the edge is refused and goes nowhere", "[unit]") {
  Walk walk(Grid(3, 2, {1}));
  walk.ResetUntilAt(0);
  for (const int64_t action : {kLeft, kRight, kUp}) {
    REQUIRE_CODE(walk.TryMove(action), absl::StatusCode::kInvalidArgument);
    CHECK(walk.cell == 0);
  }
  walk.Move(kDown);
  CHECK(walk.cell == 3);
}

// 0 1 # 3 4
// 5 6 # # 9, which is the goal.
TEST_CASE("episodes start in the cells that lead to the goal, and in all of them", "[unit]") {
  Walk walk(Grid(5, 2, {2, 7, 8}));
  std::map<int64_t, int64_t> counts;
  for (int i = 0; i < 1000; ++i) {
    ++counts[walk.cell];
    walk.Reset();
  }
  testing::CheckChiSquare(counts, {{3, 1}, {4, 1}});
}

TEST_CASE("a move that slips goes to one side or the other", "[unit]") {
  Walk walk(Grid(3, 3, {}, 1));
  std::map<int64_t, int64_t> counts;
  for (int i = 0; i < 500; ++i) {
    walk.Reset();
    walk.ResetUntilAt(4);
    walk.Move(i % 2 == 0 ? kRight : kLeft);
    ++counts[walk.cell];
  }
  testing::CheckChiSquare(counts, {{1, 1}, {7, 1}});
}

TEST_CASE("the share of moves that slip is that of the settings", "[unit]") {
  Walk walk(Grid(3, 3, {}, 0.3));
  std::map<int64_t, int64_t> counts;
  for (int i = 0; i < 1000; ++i) {
    walk.Reset();
    walk.ResetUntilAt(4);
    walk.Move(kUp);
    ++counts[walk.cell];
  }
  testing::CheckChiSquare(counts, {{1, 0.7}, {3, 0.15}, {5, 0.15}});
}

TEST_CASE("a move that slips against the edge stays in its cell", "[unit]") {
  GridWorldSettings settings = Grid(2, 1, {}, 1);
  settings.max_episode_steps = 3;
  Walk walk(settings);
  for (int step = 1; step <= 3; ++step) {
    const StepOutcome outcome = walk.Move(kRight);
    CHECK(walk.cell == 0);
    CHECK(walk.reward == 0);
    CHECK_FALSE(outcome.terminated);
    CHECK(outcome.truncated == (step == 3));
  }
}

TEST_CASE("walls without a way to the goal, or outside the grid, are refused", "[unit]") {
  for (const GridWorldSettings& settings : {Grid(3, 2, {5}), Grid(3, 2, {6}), Grid(3, 2, {2, 4}), Grid(1, 1, {})}) {
    const absl::Status refused = settings.Validate();
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(refused.message()), Catch::StartsWith("walls: "));
  }
  REQUIRE_OK(Grid(3, 2, {4}).Validate());
}

}  // namespace
}  // namespace waggle
