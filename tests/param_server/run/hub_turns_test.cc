#include <optional>
#include <string>

#include "param_server/run/hub.h"
#include "tests/param_server/run/hub_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

// A hub of a run in lock-step, with a learner.
struct Fixture : testing::HubFixture {
  explicit Fixture(int64_t record_steps) {
    lock_step = LockStepOptions{record_steps, /*evaluation_steps=*/0};
    Restart();
    Join("learner", Role::kLearner);
  }
};

TEST_CASE("in lock-step a heartbeat passes the turn on, and all workers hear of it", "[unit]") {
  CHECK_FALSE(testing::HubFixture().hub->turn().has_value());
  Fixture fixture(/*record_steps=*/2);
  fixture.Join("actor", Role::kActor);
  const auto done = [&fixture](const std::string& worker_id, uint64_t number, const char* counter, double count) {
    WorkerReport report = fixture.Report(worker_id);
    report.figures.counters[counter] = count;
    report.turn_done = number;
    const Assignment assignment = ValueOf(fixture.hub->Heartbeat(report));
    CHECK(assignment.turn->number == fixture.hub->turn()->number);
    return assignment.turn->role;
  };
  std::optional<int64_t> seen;
  REQUIRE(ValueOf(fixture.hub->News("actor", &seen))->turn->role == Role::kLearner);
  CHECK(done("learner", 1, "learner_steps", 0) == Role::kActor);
  REQUIRE(ValueOf(fixture.hub->News("actor", &seen))->turn->role == Role::kActor);
  CHECK(done("actor", 2, "items_written", 40) == Role::kLearner);
  CHECK(fixture.hub->turn()->items == 40);
  CHECK(done("learner", 3, "learner_steps", 2) == Role::kReplayServer);
  fixture.Join("replay", Role::kReplayServer, "replay:1");
  CHECK(done("replay", 4, "items", 40) == Role::kParamServer);
  fixture.hub->EndOwnTurn(4);  // The turn of another worker.
  CHECK(fixture.hub->turn()->role == Role::kParamServer);
  fixture.hub->EndOwnTurn(5);
  CHECK(fixture.hub->turn()->role == Role::kActor);
}

TEST_CASE("the first living actor has the turn", "[unit]") {
  Fixture fixture(/*record_steps=*/100);
  fixture.Join("first", Role::kActor);
  fixture.Join("second", Role::kActor);
  CHECK_FALSE(fixture.hub->turn()->index.has_value());
  WorkerReport report = fixture.Report("learner");
  report.turn_done = 1;
  REQUIRE_OK(fixture.hub->Heartbeat(report).status());
  CHECK(fixture.hub->turn()->index == 0);
  fixture.hub->Leave("first");
  CHECK(fixture.hub->turn()->index == 1);
}

}  // namespace
}  // namespace waggle
