#include "actor/writing/window_history.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a lane's latest rows are contiguous for any first row of the window", "[unit]") {
  constexpr int64_t kLanes = 3;
  constexpr int64_t kMaxWindow = 4;
  WindowHistory history(kLanes, kMaxWindow, 2);
  for (uint64_t row = 0; row < 50; ++row) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float value = static_cast<float>(100 * lane) + static_cast<float>(row);
      const float extras[2] = {value + 0.25F, value + 0.5F};
      history.Set(lane, row, {value, -value, extras, row % 3 == 0});
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      for (uint64_t first = row >= kMaxWindow - 1 ? row - (kMaxWindow - 1) : 0; first <= row; ++first) {
        const WindowRow* rows = history.Rows(lane, first);
        for (uint64_t i = 0; first + i <= row; ++i) {
          const float value = static_cast<float>(100 * lane) + static_cast<float>(first + i);
          REQUIRE(rows[i].reward == value);
          REQUIRE(rows[i].discount == -value);
          REQUIRE(rows[i].first == ((first + i) % 3 == 0));
          REQUIRE(rows[i].extras[0] == value + 0.25F);
          REQUIRE(rows[i].extras[1] == value + 0.5F);
        }
      }
    }
  }
}

}  // namespace
}  // namespace waggle
