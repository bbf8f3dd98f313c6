#include "common/hub/ports/hub.h"

#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "tests/common/hub/ports/fake_hub_link.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("roles and run states have names", "[unit]") {
  REQUIRE(std::string(RoleName(Role::kActor)) == "actor");
  REQUIRE(std::string(RoleName(Role::kLearner)) == "learner");
  REQUIRE(std::string(RoleName(Role::kReplayServer)) == "replay-server");
  REQUIRE(std::string(RoleName(Role::kParamServer)) == "param-server");
  REQUIRE(std::string(RoleName(Role::kEvaluator)) == "evaluator");
  REQUIRE(std::string(RunStateName(RunState::kNoExperiment)) == "no experiment");
  REQUIRE(std::string(RunStateName(RunState::kRunning)) == "running");
  REQUIRE(std::string(RunStateName(RunState::kFinishing)) == "finishing");
  REQUIRE(std::string(RunStateName(RunState::kSolved)) == "solved");
  REQUIRE(std::string(RunStateName(RunState::kLimit)) == "limit");
  REQUIRE(std::string(RunStateName(RunState::kFailed)) == "failed");
  REQUIRE(std::string(RoleName(static_cast<Role>(99))) == "unknown");
  REQUIRE(std::string(RunStateName(static_cast<RunState>(99))) == "unknown");
}

TEST_CASE("a run is over when it was solved, reached a limit or failed", "[unit]") {
  REQUIRE_FALSE(IsOver(RunState::kNoExperiment));
  REQUIRE_FALSE(IsOver(RunState::kRunning));
  REQUIRE(IsOver(RunState::kSolved));
  REQUIRE(IsOver(RunState::kLimit));
  REQUIRE(IsOver(RunState::kFailed));
}

TEST_CASE("training is over before the run while the last weights are evaluated", "[unit]") {
  REQUIRE_FALSE(IsTrainingOver(RunState::kNoExperiment));
  REQUIRE_FALSE(IsTrainingOver(RunState::kRunning));
  REQUIRE(IsTrainingOver(RunState::kFinishing));
  REQUIRE_FALSE(IsOver(RunState::kFinishing));
  REQUIRE(IsTrainingOver(RunState::kSolved));
}

TEST_CASE("A worker that meets the end of a run logs how it ended", "[unit]") {
  testing::FakeHubLink hub;
  const absl::Status end = absl::CancelledError("stopped");
  const auto log_of = [&] {
    hub.over.RequestStop();
    testing::CapturedStream log(STDERR_FILENO);
    CHECK(WorkResult(end, &hub) == absl::OkStatus());
    return log.Finish();
  };
  CHECK(log_of().empty());  // A stop is not the end of the run.
  hub.before.run_state = RunState::kSolved;
  CHECK(absl::StrContains(log_of(), "the run is over: solved\n"));
  CHECK(hub.reported == absl::OkStatus());
}

}  // namespace waggle
