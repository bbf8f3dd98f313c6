#include "actor/writing/window_cutter.h"

#include <algorithm>

#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

StepType TypeOf(int64_t row, int64_t rows) {
  return row == 0 ? StepType::kFirst : row + 1 == rows ? StepType::kLast : StepType::kMid;
}

WindowPlan PlanOf(WindowPlan::Kind kind, int64_t length, int64_t period = 1) {
  return {kind, length, period};
}

// The windows of an episode of rows [first, first + rows), straight from the definition.
std::vector<RowWindow> WindowsByDefinition(const WindowPlan& plan, uint64_t first, int64_t rows) {
  std::vector<RowWindow> windows;
  const auto add = [&](int64_t start, int64_t length) {
    windows.push_back(RowWindow{first + static_cast<uint64_t>(start), static_cast<uint32_t>(length)});
  };
  if (plan.kind == WindowPlan::Kind::kEpisode) {
    add(0, rows);
  } else if (plan.kind == WindowPlan::Kind::kNStep) {
    for (int64_t step = 0; step + 1 < rows; ++step) {
      add(step, std::min(plan.length, rows - step));
    }
  } else {
    for (int64_t start = 0; start + 1 < rows; start += plan.period) {
      add(start, std::min(plan.length, rows - start));
      if (start + plan.length >= rows) {
        break;
      }
    }
  }
  return windows;
}

std::vector<RowWindow> Cut(WindowCutter* cutter, uint64_t first, int64_t rows) {
  std::vector<RowWindow> windows;
  for (int64_t row = 0; row < rows; ++row) {
    REQUIRE_OK(cutter->Add(first + static_cast<uint64_t>(row), TypeOf(row, rows), &windows));
  }
  return windows;
}

bool ByStart(const RowWindow& a, const RowWindow& b) {
  return a.first_row < b.first_row;
}

TEST_CASE("an episode plan gives the whole episode and refuses one that is too long", "[unit]") {
  WindowCutter cutter(PlanOf(WindowPlan::Kind::kEpisode, 5));
  REQUIRE(Cut(&cutter, 3, 5) == std::vector<RowWindow>{{3, 5}});
  std::vector<RowWindow> windows;
  for (int64_t row = 8; row < 13; ++row) {
    REQUIRE_OK(cutter.Add(static_cast<uint64_t>(row), TypeOf(row - 8, 6), &windows));
  }
  REQUIRE_CODE(cutter.Add(13, StepType::kLast, &windows), absl::StatusCode::kInvalidArgument);
  REQUIRE(windows.empty());
}

TEST_CASE("windows equal those of the definition for random episodes and plans", "[unit]") {
  Rng rng(4);
  for (int trial = 0; trial < 500; ++trial) {
    const auto kind = static_cast<WindowPlan::Kind>(rng.UniformInt(3));
    const int64_t length = kind == WindowPlan::Kind::kEpisode ? 30 : 2 + static_cast<int64_t>(rng.UniformInt(8));
    const WindowPlan plan = PlanOf(kind, length, 1 + static_cast<int64_t>(rng.UniformInt(10)));
    WindowCutter cutter(plan);
    uint64_t first = rng.UniformInt(100);
    for (int episode = 0; episode < 10; ++episode) {
      const int64_t rows = 2 + static_cast<int64_t>(rng.UniformInt(28));
      INFO("kind " << static_cast<int>(kind) << ", length " << length << ", period " << plan.period << ", rows "
                   << rows);
      std::vector<RowWindow> windows = Cut(&cutter, first, rows);
      std::sort(windows.begin(), windows.end(), ByStart);
      REQUIRE(windows == WindowsByDefinition(plan, first, rows));
      first += static_cast<uint64_t>(rows);
    }
  }
}

// The unrolls of the first `rows` rows of a stream, straight from the definition.
std::vector<RowWindow> UnrollsByDefinition(const WindowPlan& plan, int64_t rows) {
  std::vector<RowWindow> windows;
  for (int64_t first = 0; first + plan.length <= rows; first += plan.period) {
    windows.push_back(RowWindow{static_cast<uint64_t>(first), static_cast<uint32_t>(plan.length)});
  }
  return windows;
}

TEST_CASE("unrolls equal those of the definition for random step types and plans", "[unit]") {
  Rng rng(5);
  for (int trial = 0; trial < 300; ++trial) {
    const int64_t length = 2 + static_cast<int64_t>(rng.UniformInt(8));
    const int64_t any = 1 + static_cast<int64_t>(rng.UniformInt(10));
    for (const int64_t period : {length - 1, length, any}) {
      INFO("length " << length << ", period " << period);
      const WindowPlan plan = PlanOf(WindowPlan::Kind::kUnroll, length, period);
      WindowCutter cutter(plan);
      const auto rows = static_cast<int64_t>(rng.UniformInt(60));
      std::vector<RowWindow> windows;
      for (int64_t row = 0; row < rows; ++row) {
        const size_t before = windows.size();
        REQUIRE_OK(cutter.Add(static_cast<uint64_t>(row), static_cast<StepType>(rng.UniformInt(3)), &windows));
        // A window comes with its last row.
        REQUIRE((windows.size() == before || windows.back().first_row + windows.back().rows == row + uint64_t{1}));
      }
      REQUIRE(windows == UnrollsByDefinition(plan, rows));
    }
  }
}

TEST_CASE("rows that do not make episodes are refused", "[unit]") {
  WindowCutter cutter(PlanOf(WindowPlan::Kind::kNStep, 3));
  std::vector<RowWindow> windows;
  REQUIRE_CODE(cutter.Add(0, StepType::kMid, &windows), absl::StatusCode::kInvalidArgument);
  REQUIRE_OK(cutter.Add(0, StepType::kFirst, &windows));
  REQUIRE_CODE(cutter.Add(1, StepType::kFirst, &windows), absl::StatusCode::kInvalidArgument);
  REQUIRE_OK(cutter.Add(1, StepType::kLast, &windows));
  REQUIRE_CODE(cutter.Add(2, StepType::kLast, &windows), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a window plan must give windows of two rows to the table's max_window", "[unit]") {
  REQUIRE_OK(ValidateWindowPlan(PlanOf(WindowPlan::Kind::kNStep, 2), 2));
  REQUIRE_CODE(ValidateWindowPlan(PlanOf(WindowPlan::Kind::kNStep, 1), 2), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(ValidateWindowPlan(PlanOf(WindowPlan::Kind::kNStep, 3), 2), absl::StatusCode::kInvalidArgument);
  for (const WindowPlan::Kind kind : {WindowPlan::Kind::kSequence, WindowPlan::Kind::kUnroll}) {
    REQUIRE_OK(ValidateWindowPlan(PlanOf(kind, 2, 1), 2));
    REQUIRE_CODE(ValidateWindowPlan(PlanOf(kind, 2, 0), 2), absl::StatusCode::kInvalidArgument);
    REQUIRE_CODE(ValidateWindowPlan(PlanOf(kind, 3, 2), 2), absl::StatusCode::kInvalidArgument);
    REQUIRE_CODE(ValidateWindowPlan(PlanOf(kind, 1, 1), 2), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace waggle
