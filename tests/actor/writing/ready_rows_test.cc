#include "actor/writing/ready_rows.h"

#include <cstring>
#include <vector>

#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

EnvironmentSpec Spec() {
  EnvironmentSpec spec;
  spec.name = "X";
  spec.observations = {Box("observation", DType::kFloat32, {2})};
  spec.actions = {Discrete("action", 2)};
  return spec;
}

void AddRow(ReadyRows* rows, int64_t lane, StepType type, float value) {
  const float shown[2] = {value, -value};
  std::memcpy(static_cast<char*>(rows->observations()[0]) + static_cast<size_t>(rows->rows()) * sizeof(shown), shown,
              sizeof(shown));
  *rows->Rewards(0) = 10 * value;
  rows->Add(lane, type, type == StepType::kLast ? 0.0F : 1.0F);
}

TEST_CASE("Rows are shown once, in the order in which they were gathered", "[unit]") {
  ReadyRows rows(Spec(), 3);
  AddRow(&rows, 2, StepType::kFirst, 1);
  AddRow(&rows, 0, StepType::kLast, 2);
  CHECK(rows.rows() == 2);
  const ReadyLanes shown = rows.Show();
  CHECK(std::vector<int64_t>(shown.lanes.begin(), shown.lanes.end()) == std::vector<int64_t>{2, 0});
  CHECK(static_cast<const float*>(shown.observations[0])[2] == 2);
  CHECK(shown.rewards[0][1] == 20);
  CHECK(shown.first[0] == 1);
  CHECK(shown.first[1] == 0);
  CHECK(shown.discounts[1] == 0);
  CHECK(rows.rows() == 0);
  CHECK(rows.AtEnd(0));
  CHECK_FALSE(rows.AtEnd(2));
  CHECK(rows.Show().lanes.empty());
}

TEST_CASE("Shown rows stay valid while the next ones are gathered", "[unit]") {
  ReadyRows rows(Spec(), 1);
  AddRow(&rows, 0, StepType::kFirst, 1);
  const ReadyLanes shown = rows.Show();
  AddRow(&rows, 0, StepType::kMid, 2);
  CHECK(static_cast<const float*>(shown.observations[0])[0] == 1);
  CHECK(shown.step_types[0] == static_cast<int32_t>(StepType::kFirst));
  rows.Clear();
  CHECK(rows.Show().lanes.empty());
}

}  // namespace
}  // namespace waggle::testing
