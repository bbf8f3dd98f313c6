// A run whose actors get their actions from the learner, while processes are killed.

#include <set>
#include <string>

#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("a run with central inference ends normally though an actor and the learner are killed", "[e2e]") {
  // The second has a memory: the learner has each lane's state.
  const auto config = GENERATE(as<std::string>(), "cartpole_impala_central", "cartpole_hidden_velocity_impala_lstm");
  INFO(config);
  TrainingRun run({"--seed", "3", "--actors", "2", "--set", "actor.inference=server", "--set",
                   "stop.target_return=null", "--set", "stop.max_env_steps=150000"},
                  false, config);
  run.WaitForEnvSteps(1'000);
  run.Kill("actor");
  run.KillAndAwaitAnother("learner");
  const nlohmann::json status = run.Status();
  REQUIRE_FALSE(status.is_null());
  CHECK(status.at("outcome") == "running");  // Otherwise nothing was killed during the run.

  CHECK(run.WaitForSuccess().at("env_steps").get<int64_t>() >= 150'000);
  CHECK(run.KilledRoles() == std::set<std::string>{"actor", "learner"});
}

}  // namespace
}  // namespace waggle::testing
