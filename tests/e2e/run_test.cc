// `waggle run` with all its processes.

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/rl/checkpoint/saved_model.h"
#include "tests/cli/file_contents.h"
#include "tests/e2e/run_again.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("one command trains CartPole until it is solved, and leaves all its files", "[e2e]") {
  TrainingRun run({}, /*plot=*/true);
  const nlohmann::json summary = run.WaitForSuccess("solved");
  REQUIRE(summary.at("environment") == "CartPole-v1");
  REQUIRE(summary.at("algorithm") == "apex_dqn");
  const nlohmann::json& result = summary.at("result");
  REQUIRE(result.at("mean_return").get<double>() >= 475);
  REQUIRE(result.at("episodes").get<int>() >= 20);
  REQUIRE(result.at("confirmed") == true);
  REQUIRE(result.at("env_steps").get<int64_t>() > 0);
  REQUIRE(result.at("env_steps").get<int64_t>() <= summary.at("env_steps").get<int64_t>());
  const std::string hub = "hub/experiments/" + summary.at("id").get<std::string>() + "/hub/";
  for (const std::string& folder : {hub + "weights/best", std::string("best")}) {
    const SavedModel kept = ValueOf(LoadSavedModel(run.File(folder)));
    CHECK(kept.snapshot.version.version == result.at("version").at("version").get<uint64_t>());
    CHECK(kept.experiment_yaml == Contents(run.File("experiment.yaml")));
    CHECK(kept.snapshot.progress.env_steps == result.at("env_steps"));
  }
  REQUIRE(summary.at("env_steps").get<int64_t>() > 0);
  REQUIRE(summary.at("env_steps").get<int64_t>() <= 150'000);
  REQUIRE(summary.at("learner_steps").get<int64_t>() > 0);
  REQUIRE(summary.at("processes").size() == 5);
  for (const nlohmann::json& process : summary.at("processes")) {
    INFO(process.dump());
    REQUIRE(process.at("exit") == 0);
    REQUIRE(process.at("peak_rss_mib").get<double>() > 1);
  }
  const std::string figures = Contents(run.File("metrics.csv"));
  for (const char* const name :
       {"actor/return_mean", "learner/steps", "replay/items", "algorithm/q_loss", "evaluation/mean_return"}) {
    CHECK_THAT(figures, Catch::Contains(std::string(",") + name + ","));
  }
  // The evaluation is there at the same steps.
  CHECK_THAT(figures,
             Catch::Contains(absl::StrCat(",evaluation/env_steps,", result.at("env_steps").get<int64_t>(), "\n")));
  REQUIRE(std::filesystem::file_size(run.File("experiment.yaml")) > 0);
  REQUIRE_FALSE(std::filesystem::is_empty(run.File("checkpoints")));
  REQUIRE(std::filesystem::exists(run.File("logs/learner.log")));
  // Each process leaves the run while the hub is still there.
  for (const auto& log : std::filesystem::directory_iterator(run.File("logs"))) {
    INFO(log.path());
    CHECK_THAT(Contents(log.path()), !Catch::Contains("lost"));
  }
  REQUIRE(run.Processes().empty());
  // Without matplotlib the run says so.
  CHECK((std::filesystem::exists(run.File("curves.png")) ||
         run.process()->Log().find("no curves were drawn: waggle plot: matplotlib") != std::string::npos));
  const TemporaryFolder folder;
  RunningProcess evaluate(folder, "log", {"waggle", "evaluate", run.File(""), "--episodes", "20", "--json"});
  REQUIRE(evaluate.Wait().ok());
  const nlohmann::json evaluation = nlohmann::json::parse(evaluate.Log());
  CHECK(evaluation.at("environment") == "CartPole-v1");
  CHECK(evaluation.at("episodes") == 20);
}

TEST_CASE("a run that begins with a solved run's weights has its return in the first evaluation", "[e2e]") {
  TrainingRun source({}, /*plot=*/false, "cartpole_ppo");
  source.WaitForSuccess("solved");
  // Weights that do not change. The target is lower, because the source's result may have been better than its mean.
  TrainingRun tuned(
      {"--seed", "2", "--set", absl::StrCat("learner.init.from=", source.File("best")), "--set",
       "algorithm.optimizer.learning_rate=0", "--set", "stop.target_return=400", "--set", "stop.max_env_steps=5000"},
      /*plot=*/false, "cartpole_ppo");
  const nlohmann::json summary = tuned.WaitForSuccess("solved");
  CHECK(summary.at("result").at("mean_return").get<double>() >= 400);
  CHECK(summary.at("env_steps").get<int64_t>() <= 5'300);
  CHECK_THAT(Contents(tuned.File("logs/learner.log")), Catch::Contains("As in a new run: nothing"));
}

TEST_CASE("three actors solve CartPole too", "[e2e]") {
  TrainingRun run({"--actors", "3", "--seed", "2"});
  CHECK(run.WaitForSuccess("solved").at("processes").size() == 7);
}

TEST_CASE("two actors and their learner keep step: all rows are learned from by the weights that acted", "[e2e]") {
  TrainingRun run({"--actors", "2", "--set", "stop.target_return=null", "--set", "stop.max_env_steps=20000"},
                  /*plot=*/false, "cartpole_ppo");
  const nlohmann::json summary = run.WaitForSuccess();
  CHECK(summary.at("policy_lag").at("max") == 0);
  CHECK(summary.at("items_too_old") == 0);
  // At most 32 steps of each of the 8 lanes of both actors; rows at the end are not learned from.
  const int64_t steps_a_version = 32 * 16;
  CHECK(summary.at("learner_steps").get<int64_t>() >= summary.at("env_steps").get<int64_t>() / steps_a_version - 2);
}

TEST_CASE("two learners step together on the unrolls of two actors that wait for them", "[e2e]") {
  TrainingRun run({"--actors", "2", "--learners", "2", "--set", "stop.max_seconds=120"}, /*plot=*/false,
                  "cartpole_ppo");
  const nlohmann::json summary = run.WaitForSuccess("solved");
  CHECK(summary.at("policy_lag").at("max") == 0);
  CHECK_THAT(Contents(run.File("logs/param-server.log")), Catch::Contains("learners 0, 1 of 2"));
}

TEST_CASE("two deterministic runs are equal in their weights, and in their figures except times and rates", "[e2e]") {
  const std::string config = GENERATE("cartpole_apex_dqn", "cartpole_ppo", "gymnasium_cartpole_ppo", "catch_duel_ppo");
  INFO(config);
  std::vector<std::string> arguments = {
      "--set", "experiment.deterministic=true",
      "--set", "stop.max_seconds=0",
      "--set", "stop.target_return=null",
      "--set", "stop.max_env_steps=4000",
      "--set", absl::StrCat("evaluation.period_steps=", config == "cartpole_apex_dqn" ? 200 : 5)};
  if (config == "catch_duel_ppo") {  // Some versions are kept as opponents.
    arguments.insert(arguments.end(), {"--set", "algorithm.unroll=8", "--set", "actor.self_play.every=2"});
  }
  if (config == "gymnasium_cartpole_ppo") {
    const std::string python = WAGGLE_GYMNASIUM_PYTHON;
    if (python.empty()) {
      WARN("skipped: no Python with gymnasium was found when the build was configured");
      return;
    }
    // Several processes, whose lanes become ready in another order each time.
    arguments.insert(arguments.end(),
                     {"--set", "environment.processes=2", "--set", absl::StrCat("environment.python=", python)});
  }
  const auto run = [&] { return TrainingRun(arguments, /*plot=*/false, config); };
  nlohmann::json results[2];
  TrainingRun first = run();
  results[0] = first.WaitForSuccess().at("result");
  TrainingRun second = run();
  results[1] = second.WaitForSuccess().at("result");
  const std::vector<std::string> figures = TimelessFigures(Contents(first.File("metrics.csv")));
  CHECK(figures.size() > 100);
  CHECK(figures == TimelessFigures(Contents(second.File("metrics.csv"))));
  CHECK(std::count_if(figures.begin(), figures.end(), [](const std::string& row) {
          return row.find(",evaluation/mean_return,") != std::string::npos;
        }) >= 3);
  CHECK(BestWeights(first) == BestWeights(second));
  for (nlohmann::json& result : results) {
    result.erase("finished_at");
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("a run with a learning rate of zero ends at its limit and says so", "[e2e]") {
  TrainingRun run({"--set", "algorithm.optimizer.learning_rate=0", "--set", "stop.max_env_steps=20000"});
  const ChildExit exit = run.Wait();
  INFO(run.process()->Log());
  REQUIRE(exit.code == 1);
  CHECK(run.Summary().at("outcome") == "limit");
  CHECK(run.Summary().at("env_steps").get<int64_t>() >= 20'000);
  CHECK(run.Summary().at("env_steps").get<int64_t>() <= 20'000 + 16 * 8);
}

TEST_CASE("two actors together take the steps of the limit, and at most one block each beyond it", "[e2e]") {
  TrainingRun run({"--actors", "2", "--set", "stop.target_return=null", "--set", "stop.max_env_steps=2000"});
  const auto steps = run.WaitForSuccess().at("env_steps").get<int64_t>();
  CHECK(steps >= 2'000);
  CHECK(steps <= 2'000 + 2 * 16 * 8);
}

TEST_CASE("status shows every process, the table and the model while the run goes on", "[e2e]") {
  TrainingRun run({"--set", "stop.target_return=600", "--set", "stop.max_env_steps=10000000"});
  run.WaitForEnvSteps(3000);
  Eventually("a published model and items in the table", [&run] {
    const nlohmann::json status = run.Status();
    return !status.is_null() && !status.at("tables").empty() && status.at("tables")[0].at("items") > 0 &&
           !status.at("model").is_null() && status.at("model").at("version") > 0;
  });
  const nlohmann::json status = run.Status();
  INFO(status.dump(2));
  REQUIRE(status.at("outcome") == "running");
  REQUIRE(status.at("processes").size() == 5);
  for (const auto& figure : status.at("figures").items()) {
    Eventually(figure.key() + " in metrics.csv", [&run, &figure] {
      return Contents(run.File("metrics.csv")).find("," + figure.key() + ",") != std::string::npos;
    });
  }
  run.process()->Signal(SIGINT);
  REQUIRE(run.Wait().ShellStatus() == 130);
  REQUIRE(run.Summary().at("outcome") == "interrupted");
  REQUIRE(run.Processes().empty());
}

}  // namespace
}  // namespace waggle::testing
