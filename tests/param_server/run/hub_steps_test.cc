// Hub::TakeSteps. The hub's limit is 1000 steps.

#include <limits>
#include <optional>

#include "param_server/run/hub.h"
#include "tests/param_server/run/hub_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

using Fixture = testing::HubFixture;

StepRequest Request(int64_t used, int64_t allowed = 0, double rate = 0) {
  StepRequest request;
  request.used = used;
  request.allowed = allowed;
  request.block = 100;
  request.rate = rate;
  return request;
}

int64_t Take(Fixture* fixture, const std::string& worker_id, const StepRequest& request) {
  return ValueOf(fixture->hub->TakeSteps(worker_id, request));
}

TEST_CASE("Reported steps of actors count at once, and the last step ends the run", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("b", Role::kActor);
  CHECK(Take(&fixture, "a", Request(0)) == 100);
  CHECK(Take(&fixture, "b", Request(0, 0, 1e6)) == 225);  // (1000 - 100) / (2 * 2 actors).
  CHECK(Take(&fixture, "b", Request(225, 225, 1e6)) == 225 + 168);
  CHECK(fixture.hub->Overview().env_steps == 225);
  REQUIRE_OK(fixture.Beat("a", 100));  // A heartbeat reports it too.
  CHECK(fixture.hub->Overview().env_steps == 325);
  CHECK(Take(&fixture, "b", Request(300, 393)) == 400);  // A block.
  fixture.hub->Leave("a");                               // Its unused steps are free for others.
  CHECK(Take(&fixture, "b", Request(300, 400, 1e6)) == 300 + 300);
  CHECK(fixture.hub->Overview().run_state == RunState::kRunning);
  CHECK(Take(&fixture, "b", Request(905, 900)) == 905);
  CHECK(fixture.hub->Overview().run_state == RunState::kLimit);
  CHECK_THAT(fixture.hub->Overview().outcome_reason,
             Catch::StartsWith("1005 environment steps; stop.max_env_steps is 1000"));
}

TEST_CASE("A restarted hub does not lease steps that the earlier hub leased", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("b", Role::kActor);
  const int64_t of_a = Take(&fixture, "a", Request(0, 0, 1e6));
  CHECK(of_a == 250);
  fixture.Restart();
  CHECK(fixture.hub->TakeSteps("b", Request(0)).status().code() == absl::StatusCode::kNotFound);
  fixture.Join("b", Role::kActor);
  CHECK(Take(&fixture, "b", Request(0, 0, 1e6)) == 0);
  fixture.Join("a", Role::kActor);
  CHECK(Take(&fixture, "a", Request(200, of_a)) == 300);
  CHECK(Take(&fixture, "b", Request(0, 0, 1e6)) == 175);  // (1000 - 200 - 100) / 4.
}

TEST_CASE("The actors of a resumed run do not wait for earlier actors", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  Take(&fixture, "a", Request(0));
  Take(&fixture, "a", Request(16, 100));
  fixture.resumed = true;
  fixture.Restart();
  fixture.Join("b", Role::kActor);
  CHECK(Take(&fixture, "b", Request(0, 0, 1e6)) > 0);
}

TEST_CASE("The first step in a request for more steps begins the run's time", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  Take(&fixture, "a", Request(0));
  fixture.now += absl::Hours(1);
  Take(&fixture, "a", Request(16, 100));
  fixture.now += absl::Seconds(59);
  CHECK(ValueOf(fixture.Beat("a", 16)).run_state == RunState::kRunning);
  fixture.now += absl::Seconds(1);
  CHECK(ValueOf(fixture.Beat("a", 16)).run_state == RunState::kLimit);
}

TEST_CASE("A request for steps is refused if its worker or its figures are wrong", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("e", Role::kEvaluator);
  CHECK(fixture.hub->TakeSteps("unknown", Request(0)).status().code() == absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(fixture.hub->TakeSteps("e", Request(0)).status().message()),
             Catch::Contains("only actors take environment steps"));
  std::vector<StepRequest> bad(5, Request(0));
  bad[0].used = -1;
  bad[1].allowed = std::numeric_limits<int64_t>::max();
  bad[2].block = 0;
  bad[3].rate = std::numeric_limits<double>::quiet_NaN();
  bad[4].rate = -1;
  for (const StepRequest& request : bad) {
    CHECK(fixture.hub->TakeSteps("a", request).status().code() == absl::StatusCode::kInvalidArgument);
  }
  HubOptions options;
  options.self.worker_id = "self";
  options.self.role = Role::kParamServer;
  options.newest_weights = fixture.newest.get();
  options.best_weights = fixture.best.get();
  const auto endless = ValueOf(Hub::Create(options, RunPlan(), fixture.state.get(), fixture.models.get()));
  endless->Order({"a", Role::kActor, 77, "h", ""}, 0);
  REQUIRE_OK(endless->Join({"a", "", 0, {}}));
  CHECK(endless->TakeSteps("a", Request(0)).status().code() == absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace waggle
