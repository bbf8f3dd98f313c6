#include "common/hub/ports/turn_taker.h"

#include "tests/common/hub/ports/turn_hub.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a worker takes its role's turns, and reports the end of each", "[unit]") {
  testing::TurnHub hub(Role::kActor, 2);
  hub.items_a_turn = 10;
  TurnTaker turns(&hub, Role::kActor);
  for (const uint64_t number : {3, 6}) {
    const Assignment assignment = testing::ValueOf(turns.Await(StopToken()));
    CHECK(assignment.turn->number == number);
    CHECK(assignment.turn->items == static_cast<int64_t>(number) / 3 * 10);
    CHECK(hub.turn_done < number);
    turns.End();
    CHECK(hub.turn_done == number);
  }
  REQUIRE_CODE(turns.Await(StopToken()), absl::StatusCode::kCancelled);
  CHECK(hub.training_over().StopRequested());
}

TEST_CASE("another role's turn and a finished turn are waited out", "[unit]") {
  testing::FakeHubLink hub;
  hub.after.run_state = RunState::kRunning;
  hub.after.turn = Turn{4, Role::kActor, 0};
  TurnTaker learner(&hub, Role::kLearner);
  REQUIRE_CODE(learner.Await(StopToken()), absl::StatusCode::kCancelled);  // This hub never blocks.
  TurnTaker actor(&hub, Role::kActor);
  REQUIRE_OK(actor.Await(StopToken()).status());
  actor.End();
  REQUIRE_CODE(actor.Await(StopToken()), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
