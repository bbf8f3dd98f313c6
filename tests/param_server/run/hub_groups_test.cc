#include "tests/param_server/run/hub_fixture.h"
#include "tests/support/conformance/model_conformance.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

using testing::ValueOf;

// A run with two learners.
struct Fixture : testing::HubFixture {
  Fixture() {
    learners = 2;
    Restart();
  }

  std::string JoinAs(int64_t index, const std::string& worker_id) {
    seats.Order(hub.get(), worker_id, Role::kLearner, index);
    REQUIRE_OK(hub->Join({worker_id, "", 0, {}}));
    return worker_id;
  }

  // Waits until the learner is in a group of this size, later than that of `after`.
  GroupSeat Seat(const std::string& worker_id, int64_t size, uint64_t after = 0) {
    std::optional<GroupSeat> seat;
    testing::Eventually("a group", [&] {
      seat = ValueOf(hub->Heartbeat(Report(worker_id))).group;
      return seat.has_value() && seat->size == size && seat->epoch > after;
    });
    return *seat;
  }
};

TEST_CASE("Several learners get a group with its own epoch once all have joined", "[unit]") {
  Fixture fixture;
  fixture.JoinAs(1, "b");
  CHECK_FALSE(ValueOf(fixture.Beat("b")).group.has_value());
  fixture.JoinAs(0, "a");
  const GroupSeat first = fixture.Seat("a", 2);
  CHECK(first == GroupSeat{3, 0, 2});  // The learners themselves have epochs 1 and 2.
  CHECK(fixture.Seat("b", 2) == GroupSeat{3, 1, 2});
  CHECK(fixture.state->last_epoch() == 3);
  REQUIRE_OK(fixture.hub->group_store()->Set(3, "key", "value"));
  fixture.Join("c", Role::kActor);
  CHECK_FALSE(ValueOf(fixture.Beat("c")).group.has_value());
}

TEST_CASE("Another group with its own map is formed if a learner is lost or comes back", "[unit]") {
  Fixture fixture;
  fixture.JoinAs(0, "a");
  fixture.JoinAs(1, "b");
  const GroupSeat first = fixture.Seat("a", 2);
  fixture.hub->Leave("a");
  const GroupSeat alone = fixture.Seat("b", 1, first.epoch);
  CHECK(alone.rank == 0);
  CHECK(fixture.hub->group_store()->Set(first.epoch, "key", "").code() == absl::StatusCode::kFailedPrecondition);
  // Weights that the first learner still publishes have an earlier epoch.
  REQUIRE_OK(fixture.models->Publish(testing::MakeModel("x", {alone.epoch, 5})));
  CHECK(fixture.models->Publish(testing::MakeModel("x", {first.epoch, 9})).code() ==
        absl::StatusCode::kFailedPrecondition);
  fixture.JoinAs(0, "a2");
  CHECK(fixture.Seat("b", 2, alone.epoch).rank == 1);
  fixture.hub->Dismiss("a2", "it was silent");
  CHECK(fixture.Seat("b", 1, alone.epoch).rank == 0);
}

TEST_CASE("Another group is formed if a learner cannot reach the others", "[unit]") {
  Fixture fixture;
  fixture.JoinAs(0, "a");
  fixture.JoinAs(1, "b");
  const GroupSeat first = fixture.Seat("a", 2);
  WorkerReport report = fixture.Report("b");
  report.broken_group = first.epoch;
  REQUIRE_OK(fixture.hub->Heartbeat(report));
  CHECK(fixture.Seat("a", 2, first.epoch).rank == 0);
}

TEST_CASE("A learner that gives up is not in the next group, and the run goes on", "[unit]") {
  Fixture fixture;
  fixture.JoinAs(0, "a");
  fixture.JoinAs(1, "b");
  const GroupSeat first = fixture.Seat("a", 2);
  REQUIRE_OK(fixture.models->Publish(testing::MakeModel("x", {first.epoch, 5})));
  CHECK(fixture.Fail("a", "out of memory") == RunState::kRunning);
  const GroupSeat alone = fixture.Seat("b", 1, first.epoch);
  CHECK(alone.rank == 0);
  CHECK(fixture.Fail("b", "out of memory too") == RunState::kFailed);
}

TEST_CASE("A restarted hub forms a later group with all learners, or after a while with those that came back",
          "[unit]") {
  Fixture fixture;
  fixture.JoinAs(0, "a");
  fixture.JoinAs(1, "b");
  fixture.Join("c", Role::kActor);
  REQUIRE_OK(fixture.Beat("c", 5));  // The run has begun.
  const GroupSeat first = fixture.Seat("a", 2);
  fixture.Restart();
  fixture.JoinAs(1, "b");
  CHECK_FALSE(ValueOf(fixture.Beat("b")).group.has_value());
  fixture.now += absl::Seconds(10);
  CHECK(fixture.Seat("b", 1, first.epoch).rank == 0);
}

}  // namespace
}  // namespace waggle
