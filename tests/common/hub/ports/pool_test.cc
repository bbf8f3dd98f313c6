#include "common/hub/ports/pool.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A gradient worker can be the primary or a reducer, and other kinds have the role of their name", "[unit]") {
  CHECK(CanWorkAs(WorkerKind::kGradient, Role::kLearner));
  CHECK(CanWorkAs(WorkerKind::kGradient, Role::kReducer));
  CHECK_FALSE(CanWorkAs(WorkerKind::kGradient, Role::kActor));
  CHECK(CanWorkAs(WorkerKind::kReplayServer, Role::kReplayServer));
  CHECK_FALSE(CanWorkAs(WorkerKind::kActor, Role::kEvaluator));
  CHECK_FALSE(CanWorkAs(WorkerKind::kLearner, Role::kReducer));
}

TEST_CASE("Each order of a process has its own name in its run", "[unit]") {
  CHECK(RunWorkerId("actor-1-ab", 7) != RunWorkerId("actor-1-ab", 8));
  CHECK(RunWorkerId("actor-1-ab", 7) != RunWorkerId("actor-1-ac", 7));
}

}  // namespace
}  // namespace waggle
