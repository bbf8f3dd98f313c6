#include <string>

#include "tests/cli/file_contents.h"
#include "tests/param_server/experiments/host_fixture.h"

namespace waggle::testing {
namespace {

TEST_CASE_METHOD(HostFixture, "an experiment waits in the queue until there are workers for it, and then runs",
                 "[unit]") {
  Start();
  const std::string id = Submit("cart.pole");
  CHECK_THAT(id, Catch::StartsWith("cart-pole-"));
  Eventually("why it waits", [&] { return !ValueOf(host->Get(id)).reason().empty(); });
  CHECK(State(id) == RunState::kQueued);
  CHECK_THAT(ValueOf(host->Get(id)).reason(), Catch::Contains("cannot begin in this pool"));
  CHECK(Find(id) == nullptr);
  CHECK(ValueOf(host->PastOverview(id)).run_state() == v1::RUN_STATE_QUEUED);
  CHECK(host->TextsOfRunning(id) == nullptr);

  WholeCrew();
  RoundsUntil("orders for all",
              [&] { return workers.at("learner").held_size() == 1 && workers.at("evaluator").held_size() == 1; });
  CHECK(State(id) == RunState::kRunning);
  const v1::WorkOrder order = workers.at("learner").held(0).order();
  CHECK(order.experiment_id() == id);
  CHECK(order.role() == v1::ROLE_LEARNER);
  CHECK(Contents(order.output_folder() + "/experiment.yaml") == ValueOf(host->Texts(id)).effective_yaml);
  REQUIRE(host->TextsOfRunning(id) != nullptr);
  CHECK(host->TextsOfRunning(id)->effective_yaml == ValueOf(host->Texts(id)).effective_yaml);
  REQUIRE(Find(id) != nullptr);
  CHECK(Find("")->experiment_id == id);  // The only experiment.
  CHECK(Find(id)->hub->run_state() == RunState::kRunning);
  CHECK(ValueOf(host->Get(id)).workers() == 4);
  CHECK(host->Members().size() == 4);
  Eventually("what has happened", [&] { return Log(id).find("evaluator 0 of") != std::string::npos; });
}

TEST_CASE_METHOD(HostFixture, "an experiment that is resumed at once begins after its old tables are dropped",
                 "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders",
              [&] { return workers.at("actor").held_size() == 1 && workers.at("evaluator").held_size() == 1; });
  workers.at("replay").add_kept(id);
  Round();
  CHECK(discarded.at("replay").empty());
  REQUIRE_OK(host->Stop(id));
  EndAll();
  const v1::AttendRequest replay = workers.at("replay");
  workers.erase("replay");  // It does not hear that the experiment is over.
  RoundsUntil("the run's end", [&] { return Find(id) == nullptr; });
  REQUIRE_OK(host->Resume(id));
  workers["replay"] = replay;
  for (int i = 0; i < 3; ++i) {
    Round();
    CHECK(discarded.at("replay") == std::vector<std::string>{id});
    CHECK(State(id) == RunState::kQueued);
  }
  CHECK_THAT(ValueOf(host->Get(id)).reason(), Catch::Contains("old tables"));
  workers.at("replay").clear_kept();
  RoundsUntil("orders again", [&] { return workers.at("actor").held_size() == 1; });
  workers.at("replay").add_kept(id);
  Round();
  CHECK(discarded.at("replay").empty());
}

TEST_CASE_METHOD(HostFixture, "experiments begin by priority, except those that lack workers", "[unit]") {
  Start();
  const std::string first = Submit("first");
  const std::string large = Submit("large", "learner: {processes: 5}\n", /*priority=*/9);
  const std::string urgent = Submit("urgent", "", /*priority=*/1);
  WholeCrew();
  RoundsUntil("the urgent one", [&] { return State(urgent) == RunState::kRunning; });
  CHECK(State(first) == RunState::kQueued);
  CHECK_THAT(ValueOf(host->Get(large)).reason(), Catch::Contains("5 learners"));
  RoundsUntil("what the first one waits for",
              [&] { return ValueOf(host->Get(first)).reason().find("1 learner") != std::string::npos; });
  REQUIRE_OK(host->Stop(urgent));
  RoundsUntil("the first one", [&] {
    EndAll();
    return State(first) == RunState::kRunning;
  });
  CHECK(State(large) == RunState::kQueued);
}

TEST_CASE_METHOD(HostFixture, "an experiment with a target return waits for an evaluator", "[unit]") {
  Start();
  WholeCrew();
  workers.erase("evaluator");
  const std::string yaml =
      "environment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\nstop: {target_return: 100}\n";
  const std::string id = ValueOf(host->Submit({yaml, yaml, 0, ""})).front();
  const std::string missing = "stop.target_return: needs 1 evaluator for CartPole-v1";
  RoundsUntil("what it waits for", [&] { return ValueOf(host->Get(id)).reason().find(missing) != std::string::npos; });
  CHECK(State(id) == RunState::kQueued);
  RoundsUntil("that it waits is told", [&] { return Log(id).find(missing) != std::string::npos; });
  Worker("evaluator", WorkerKind::kEvaluator);
  RoundsUntil("an order for it", [&] { return workers.at("evaluator").held_size() == 1; });
  CHECK(State(id) == RunState::kRunning);
  // A running experiment waits for another.
  workers.erase("evaluator");
  options.pool.silent_after = absl::Seconds(1);
  host.reset();
  Start();
  RoundsUntil("that it is gone",
              [&] { return ValueOf(host->Get(id)).reason() == "waits for 1 evaluator for CartPole-v1"; });
}

}  // namespace
}  // namespace waggle::testing
