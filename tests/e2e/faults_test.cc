// Runs whose processes are killed or paused.

#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/cli/file_contents.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// A run with a limit on steps: one with a target may be lucky, and end before anything happens to it.
std::vector<std::string> Steps(int64_t steps) {
  return {"--seed", "3", "--set", "stop.target_return=null", "--set", absl::StrCat("stop.max_env_steps=", steps)};
}

TEST_CASE("a run ends normally though an actor is killed and a replay server pauses for five seconds", "[e2e]") {
  TrainingRun run(Steps(30'000));
  run.WaitForEnvSteps(1);
  run.KillAndAwaitAnother("actor-0");
  run.Pause("replay-server");
  run.WaitForSuccess();
}

// The number of items that the last replay server to start has restored; -1: none has.
int64_t ItemsRestored(const TrainingRun& run) {
  const std::string log = Contents(run.File("logs/replay-server.log"));
  const std::string words = "/cartpole_apex_dqn/transitions\": ";  // After the experiment's id.
  const size_t line = log.rfind("restored table \"");
  const size_t found = line == std::string::npos ? line : log.find(words, line);
  return found == std::string::npos ? -1 : std::stoll(log.substr(found + words.size()));
}

TEST_CASE("the only replay server is killed and comes back with its items, and the run ends normally", "[e2e]") {
  const std::string durability = GENERATE(as<std::string>(), "log", "checkpoint", "none");
  INFO(durability);
  std::vector<std::string> arguments = Steps(30'000);
  arguments.insert(arguments.end(), {"--set", "replay.durability=" + durability});
  if (durability == "checkpoint") {
    arguments.insert(arguments.end(), {"--set", "replay.checkpoint_seconds=0.2"});
  }
  TrainingRun run(arguments);
  const auto await_items = [&run] {
    Eventually("items in the table", [&run] {
      const nlohmann::json status = run.Status();
      return !status.is_null() && !status.at("tables").empty() && status.at("tables")[0].at("items") >= 4000;
    });
  };
  await_items();
  run.KillAndAwaitAnother("replay-server");
  await_items();
  if (durability == "log") {
    CHECK(ItemsRestored(run) >= 4000);
  } else if (durability == "checkpoint") {
    CHECK(ItemsRestored(run) > 0);
  } else {
    CHECK(ItemsRestored(run) == -1);
  }
  run.WaitForSuccess();
  CHECK(run.KilledRoles() == std::set<std::string>{"replay-server"});
  REQUIRE(std::filesystem::exists(run.File("replay/db")) == (durability != "none"));
}

TEST_CASE("one of two replay servers is killed, the other one paused, and the run ends normally", "[e2e]") {
  std::vector<std::string> arguments = Steps(40'000);
  arguments.insert(arguments.end(), {"--replay-servers", "2"});
  TrainingRun run(arguments);
  run.WaitForEnvSteps(5000);
  run.KillAndAwaitAnother("replay-server-0");
  Eventually("items on both servers", [&run] {
    const nlohmann::json status = run.Status();
    const nlohmann::json tables = status.is_null() ? nlohmann::json::array() : status.at("tables");
    return tables.size() == 2 && tables[0].at("items") > 0 && tables[1].at("items") > 0;
  });
  run.Pause("replay-server-1");
  run.WaitForSuccess();
  CHECK(run.KilledRoles() == std::set<std::string>{"replay-server"});
}

TEST_CASE("a learner that is killed early restarts, and the run ends normally", "[e2e]") {
  TrainingRun run(Steps(30'000));
  run.WaitForEnvSteps(5000);
  run.Kill("learner");
  run.WaitForSuccess();
  CHECK(run.KilledRoles() == std::set<std::string>{"learner"});
  const std::string log = Contents(run.File("logs/learner.log"));
  INFO(log);
  // From a checkpoint, if one was written in so short a time.
  REQUIRE(
      (absl::StrContains(log, "goes on from step ") || absl::StrContains(log, "goes on from the parameter server")));
}

// Waits for weights of at least so many learner steps. Returns their number.
int64_t AwaitLearnerSteps(const TrainingRun& run, int64_t steps) {
  int64_t version = 0;
  Eventually("learner steps", [&] {
    const nlohmann::json status = run.Status();
    if (!status.is_null() && !status.at("model").is_null()) {
      version = status.at("model").at("version").get<int64_t>();
    }
    return version >= steps;
  });
  return version;
}

void Interrupt(TrainingRun* run) {
  run->process()->Signal(SIGINT);
  run->Wait();
  CHECK(run->Summary().at("outcome") == "interrupted");
}

TEST_CASE("each of two learners is killed in turn, and both go on learning together", "[e2e]") {
  // By the mean of gradients with one network; by pushed gradients with several, targets and a learned temperature.
  const bool push = GENERATE(false, true);
  std::vector<std::string> arguments = {
      "--seed", "3", "--learners", "2", "--set", "stop.target_return=null", "--set", "stop.max_env_steps=10000000"};
  if (push) {
    arguments.insert(arguments.end(), {"--set", "learner.gradients=push"});
  }
  TrainingRun run(arguments, /*plot=*/false, push ? "pendulum_sac" : "cartpole_apex_dqn");
  // The newest group, once one of both learners has been formed after `last`.
  const auto await_group = [&run](const std::string& last) {
    std::string newest;
    Eventually("another group of both", [&] {
      const std::string log = Contents(run.File("logs/param-server.log"));
      const size_t found = log.rfind("a group of epoch ");
      newest = found == std::string::npos ? "" : log.substr(found, log.find('\n', found) - found);
      return absl::StrContains(newest, "learners 0, 1 of 2") && newest != last;
    });
    return newest;
  };
  std::string group = await_group("");
  int64_t version = AwaitLearnerSteps(run, 100);
  for (const char* const name : {"learner-1", "learner"}) {
    run.Kill(name);
    group = await_group(group);
    version = AwaitLearnerSteps(run, version + 100);
  }
  Interrupt(&run);
  CHECK(run.KilledRoles() == std::set<std::string>{"learner"});
  if (push) {
    const nlohmann::json gradients = run.Summary().at("gradients");
    CHECK(gradients.at("applied") > 0);
    CHECK(gradients.at("refused") == 0);
  }
}

TEST_CASE("a run of each family of algorithms goes on though each of its processes is killed", "[e2e]") {
  const std::string config = GENERATE(as<std::string>(), "cartpole_rainbow", "pendulum_td3", "pendulum_tqc",
                                      "cartpole_ppo", "pendulum_mpo", "cartpole_trpo");
  INFO(config);
  TrainingRun run({"--seed", "3", "--set", "stop.target_return=null", "--set", "stop.max_env_steps=100000000"},
                  /*plot=*/false, config);
  int64_t version = AwaitLearnerSteps(run, 10);
  for (const char* const role : {"actor", "replay-server", "evaluator", "learner"}) {
    INFO(role);
    run.KillAndAwaitAnother(role);
    version = AwaitLearnerSteps(run, version + 10);
  }
  Interrupt(&run);
}

TEST_CASE("an elastic run whose actors wait for each learner step goes on while actors are killed", "[e2e]") {
  TrainingRun run({"--seed", "3", "--set", "actor.processes={min: 1, max: 3}", "--set", "stop.target_return=null",
                   "--set", "stop.max_env_steps=100000000"},
                  /*plot=*/false, "cartpole_ppo");
  int64_t version = AwaitLearnerSteps(run, 10);
  for (const char* const name : {"actor-2", "actor"}) {
    run.Kill(name);
    version = AwaitLearnerSteps(run, version + 20);
  }
  Interrupt(&run);
  CHECK(run.KilledRoles() == std::set<std::string>{"actor"});
  // Unrolls that were left over are not learned from.
  CHECK(run.Summary().at("policy_lag").at("max") == 0);
}

TEST_CASE("no process outlives a killed waggle run", "[e2e]") {
  TrainingRun run({"--set", "stop.target_return=600"});
  run.WaitForEnvSteps(1000);
  REQUIRE(run.Processes().size() >= 5);
  run.process()->Signal(SIGKILL);
  REQUIRE(run.Wait().signal == SIGKILL);
  Eventually("the end of every process of the run", [&run] { return run.Processes().empty(); });
}

TEST_CASE("a server on a taken port reports it and ends", "[e2e]") {
  const TemporaryFolder folder;
  RunningProcess first(folder, "first",
                       {"waggle-param-server", "--listen", "127.0.0.1:0", "--data-dir", folder.File("one")});
  Eventually("the first server's address", [&folder] { return std::ifstream(folder.File("one/address")).good(); });
  std::string address = Contents(folder.File("one/address"));
  address = address.substr(0, address.find('\n'));
  RunningProcess second(folder, "second",
                        {"waggle-param-server", "--listen", address, "--data-dir", folder.File("two")});
  REQUIRE(second.Wait().code == 1);
  INFO(second.Log());
  REQUIRE(absl::StrContains(second.Log(), address));
  RunningProcess replay(folder, "replay", {"waggle-replay-server", "--listen", address});
  REQUIRE(replay.Wait().code == 1);
  first.Signal(SIGTERM);
  REQUIRE(first.Wait().ok());
}

TEST_CASE("a deterministic run ends normally though each of its processes is killed in turn", "[e2e]") {
  std::vector<std::string> arguments = Steps(24'000);
  arguments.insert(arguments.end(), {"--set", "experiment.deterministic=true", "--set", "stop.max_seconds=0", "--set",
                                     "evaluation.period_steps=400"});
  TrainingRun run(arguments);
  double steps = 2'000;
  for (const char* const role : {"learner", "actor", "replay-server", "evaluator"}) {
    INFO(role);
    run.WaitForEnvSteps(steps);
    steps += 4'000;
    run.KillAndAwaitAnother(role);
  }
  run.WaitForSuccess();
}

}  // namespace
}  // namespace waggle::testing
