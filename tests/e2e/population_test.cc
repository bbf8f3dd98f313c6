#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/service.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

const std::string kConfig = std::string(WAGGLE_TEST_CONFIG_DIR) + "/cartpole_ppo_population.yaml";

TEST_CASE("a member of a population learns on with another's weights, also after its learner was killed", "[e2e]") {
  Service service;
  service.StartHub();
  service.StartReplay("replay");
  service.StartEvaluator("evaluator");
  for (const std::string number : {"0", "1"}) {
    service.StartLearner("learner-" + number);
    service.StartActor("actor-" + number);
  }
  Eventually("the hub", [&] { return service.Waggle({"list"}).first == 0; });
  // Both learn forever: the first too slowly to be the better one for long.
  const std::string first =
      service.SubmitFile(kConfig, {"--set", "experiment.population.size=2", "--set", "experiment.population.every=2000",
                                   "--set", "evaluation.period_seconds=0.1", "--set", "stop.max_env_steps=100000000"});
  REQUIRE(absl::EndsWith(first, "-0"));
  const std::string second = absl::StrCat(first.substr(0, first.size() - 1), "1");
  std::string loser;
  Eventually("an exchange", [&] {
    for (const std::string& id : {first, second}) {
      loser = absl::StrContains(service.Waggle({"logs", id}).second, "takes the weights of ") ? id : loser;
    }
    return !loser.empty();
  });
  const auto has_taken = [&] {
    const std::string learner = service.WorkerOf(loser, "learner");
    return !learner.empty() && absl::StrContains(service.process(learner)->Log(), "learns on with the weights of ");
  };
  Eventually("its learner to obey", has_taken);
  const std::string killed = service.WorkerOf(loser, "learner");
  service.Kill(killed);
  service.StartLearner(killed);
  const auto learner_steps = [&] {
    const nlohmann::json status = service.Status(loser);
    return status.is_null() ? 0 : status.at("learner_steps").get<double>();
  };
  const double before = learner_steps();
  Eventually("further steps", [&] { return learner_steps() > before + 20; });
  for (const std::string& id : {first, second}) {
    CHECK(service.Waggle({"stop", id}).first == 0);
    service.AwaitOutcome(id, "stopped");
  }
  service.EndAll();
}

TEST_CASE("a population is not run on one machine without a hub, and its file is checked", "[e2e]") {
  const TemporaryFolder folder;
  RunningProcess check(folder, "check", {"waggle", "check", kConfig});
  CHECK(check.Wait().ok());
  RunningProcess run(folder, "run", {"waggle", "run", kConfig, "--output-dir", folder.File("out")});
  CHECK(run.Wait().code == 2);
  CHECK_THAT(run.Log(), Catch::Contains("waggle submit"));
  RunningProcess wrong(folder, "wrong",
                       {"waggle", "check", kConfig, "--set", "experiment.population.mutate={algorithm.unroll: {}}"});
  CHECK(wrong.Wait().code == 2);
  CHECK_THAT(wrong.Log(), Catch::Contains("experiment.population.mutate.algorithm.unroll"));
}

}  // namespace
}  // namespace waggle::testing
