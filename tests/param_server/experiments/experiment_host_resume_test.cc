#include <string>

#include "tests/cli/file_contents.h"
#include "tests/param_server/experiments/host_fixture.h"

namespace waggle::testing {
namespace {

class ResumeFixture : public HostFixture {
 public:
  // Begins an experiment, the parts of whose file are `more`.
  std::string Begin(const std::string& more) {
    Start();
    WholeCrew();
    const std::string yaml =
        absl::StrCat("experiment: {name: x}\nenvironment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\n", more);
    const std::string id = ValueOf(host->Submit({yaml, yaml, 0, ""})).front();
    RoundsUntil("orders", [&] { return Find(id) != nullptr && workers.at("actor").held_size() == 1; });
    return id;
  }
  void Act(const std::string& id, double steps) {
    WorkerFigures figures;
    figures.counters["env_steps"] = steps;
    Work(id, absl::StrCat("actor-", last_index), Role::kActor, figures);
  }
  void Close(const std::string& id) {
    EndAll();
    RoundsUntil("the close of the run", [&] { return Find(id) == nullptr && IsClosed(id); });
  }
  void AwaitGoingOn(const std::string& id) {
    RoundsUntil("the run to go on", [&] { return Find(id) != nullptr; });
  }
};

TEST_CASE_METHOD(ResumeFixture, "a run that reached a limit goes on with a later one, also with later hubs", "[unit]") {
  const std::string id = Begin("stop: {max_env_steps: 1000}\nevaluation: {enabled: false}\n");
  REQUIRE_CODE(host->Resume(id), absl::StatusCode::kFailedPrecondition);  // It runs.
  Act(id, 1000);
  CHECK(State(id) == RunState::kLimit);
  Close(id);
  const std::string submitted = ValueOf(host->Texts(id)).submitted_yaml;
  const absl::Status early = host->Resume(id);
  REQUIRE_CODE(early, absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(early.message()), Catch::Contains("--max-env-steps") && Catch::Contains(id));
  REQUIRE_CODE(host->Resume(id, {{"stop.max_env_steps", "900"}}), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(host->Resume(id, {{"stop.max_env_step", "2000"}}), absl::StatusCode::kInvalidArgument);
  CHECK(State(id) == RunState::kLimit);

  REQUIRE_OK(host->Resume(id, {{"stop.max_env_steps", "2000"}}));
  CHECK(ValueOf(host->Get(id)).limits(0) == "stop.max_env_steps=2000");
  AwaitGoingOn(id);
  CHECK(ValueOf(host->Get(id)).env_steps() == 1000);
  CHECK_THAT(Contents(Output(id) + "experiment.yaml"), Catch::Contains("max_env_steps: 2000"));
  CHECK(ValueOf(host->Texts(id)).submitted_yaml == submitted);
  CHECK_THAT(Log(id), Catch::Contains("stop.max_env_steps from 1000 to 2000"));

  host.reset();
  Start();
  AwaitGoingOn(id);
  Act(id, 999);
  CHECK(State(id) == RunState::kRunning);
  Act(id, 1);
  CHECK(State(id) == RunState::kLimit);
  CHECK(ValueOf(host->Get(id)).env_steps() == 2000);
  CHECK(ValueOf(host->Get(id)).attempts() == 2);
}

TEST_CASE_METHOD(ResumeFixture, "a solved run goes on to a higher target, and keeps its best result", "[unit]") {
  const std::string id = Begin("stop: {target_return: 100, max_env_steps: 5000}\n");
  Act(id, 500);
  Publish(id, "x", 1);
  Evaluate(id, 120);
  Evaluate(id, 110);
  CHECK(State(id) == RunState::kSolved);
  Close(id);
  for (const char* const target : {"100", "110"}) {
    REQUIRE_CODE(host->Resume(id, {{"stop.target_return", target}}), absl::StatusCode::kFailedPrecondition);
  }
  REQUIRE_CODE(host->Resume(id, {{"stop.max_env_steps", "6000"}}), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(host->Resume(id, {{"stop.target_return", "200"}}));
  AwaitGoingOn(id);
  CHECK(State(id) == RunState::kRunning);
  const v1::ExperimentInfo info = ValueOf(host->Get(id));
  CHECK(info.result().evaluation().mean_return() == 110);
  CHECK_FALSE(info.result().confirmed());
  Publish(id, "x", 2);
  Evaluate(id, 210, 2);
  CHECK(State(id) == RunState::kRunning);
  CHECK(ValueOf(host->Get(id)).result().evaluation().mean_return() == 210);
  Evaluate(id, 205, 2);
  CHECK(State(id) == RunState::kSolved);
}

TEST_CASE_METHOD(ResumeFixture, "a stopped run takes a later limit, and one without a target goes on", "[unit]") {
  const std::string id = Begin("stop: {target_return: 100, max_env_steps: 5000}\n");
  Act(id, 500);
  REQUIRE_OK(host->Stop(id));
  Close(id);
  REQUIRE_OK(host->Resume(id, {{"stop.target_return", "null"}, {"stop.max_env_steps", "600"}}));
  AwaitGoingOn(id);
  Publish(id, "x", 1);
  Evaluate(id, 120);
  Evaluate(id, 110);
  CHECK(State(id) == RunState::kRunning);
  Act(id, 100);
  CHECK(State(id) != RunState::kRunning);
  // The limits hold for later resumes.
  REQUIRE_OK(host->Stop(id));
  Close(id);
  REQUIRE_CODE(host->Resume(id), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace waggle::testing
