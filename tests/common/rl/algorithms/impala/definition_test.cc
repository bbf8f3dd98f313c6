#include <string>
#include <utility>

#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/impala/impala.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

absl::StatusOr<Experiment> Parse(const std::string& more) {
  return ParseExperiment("algorithm: {name: impala" + more + "}\nstop: {max_learner_steps: 10}\n", "test.yaml", {},
                         BuiltinAlgorithmDefinitions());
}

ExperimentPlan Planned(const std::string& more, SpaceLeaf action) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {std::move(action)};
  const Experiment experiment = testing::ValueOf(Parse(more));
  REQUIRE_OK(CheckAgainstEnvironment(experiment, environment, BuiltinAlgorithmDefinitions()));
  return testing::ValueOf(PlanExperiment(experiment, environment, BuiltinAlgorithmDefinitions()));
}

TEST_CASE("IMPALA learns from unrolls that overlap by a row, and its actors wait for nothing", "[unit]") {
  const ExperimentPlan plan = Planned(", unroll: 7", Discrete("action", 4));
  CHECK(plan.acting()->name == "actor_critic");
  CHECK(plan.algorithm.columns == std::vector<std::string>{"log_prob"});
  CHECK_FALSE(plan.algorithm.rows_per_version.has_value());
  REQUIRE(plan.algorithm.tables.size() == 1);
  CHECK(plan.algorithm.tables[0].window.kind == WindowPlan::Kind::kUnroll);
  CHECK(plan.algorithm.tables[0].window.length == 8);
  CHECK(plan.algorithm.tables[0].window.period == 7);
  CHECK(plan.algorithm.tables[0].batch_size == 16);
}

// What is wrong with this experiment in an environment of two choices.
std::string Refused(const std::string& yaml) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {Discrete("action", 2)};
  const Experiment experiment = testing::ValueOf(
      ParseExperiment(yaml + "stop: {max_learner_steps: 10}\n", "test.yaml", {}, BuiltinAlgorithmDefinitions()));
  return std::string(CheckAgainstEnvironment(experiment, environment, BuiltinAlgorithmDefinitions()).message());
}

TEST_CASE("who computes actions and gradients fits together, or is refused by its key", "[unit]") {
  const std::string server = "actor: {inference: server}\n";
  const std::string push = "learner: {gradients: push}\n";
  CHECK(Refused("algorithm: {name: impala}\n" + server).empty());
  CHECK(Refused("algorithm: {name: impala}\n" + push).empty());
  CHECK(Refused("algorithm: {name: impala}\n" + server + push).find("actor.inference: server: actors that push") == 0);
  CHECK(Refused("algorithm: {name: a2c, normalize_returns: false}\n" + push).empty());
  CHECK(Refused("algorithm: {name: a2c}\n" + server).find("actor.inference: server: actors of algorithm a2c") == 0);
  CHECK(Refused("algorithm: {name: ppo}\n" + push).find("learner.gradients: push is for algorithms that take one") ==
        0);
  CHECK(Refused("algorithm: {name: impala}\nlearner: {gradients: push, processes: 2}\n").find("learner.processes: 2") ==
        0);
}

TEST_CASE("returns are not normalised where gradients of several processes are averaged", "[unit]") {
  const std::string normalizes = "algorithm: {name: impala, normalize_returns: true}\n";
  CHECK(Refused(normalizes).empty());
  CHECK(Refused("algorithm: {name: impala}\nlearner: {processes: 2}\n").empty());
  CHECK(Refused(normalizes + "learner: {processes: 2}\n") ==
        "learner.processes: 2: each would scale returns by what it has learned from itself, and the mean would be of "
        "gradients on different scales; wanted 1, or algorithm.normalize_returns: false");
  CHECK(Refused(normalizes + "learner: {gradients: push}\n") ==
        "algorithm.normalize_returns: with learner.gradients: push each actor would scale returns by what it has acted "
        "itself, and the mean would be of gradients on different scales; wanted false, or learner.gradients: local");
}

TEST_CASE("IMPALA's clips are ordered: no step counts more for what follows than for itself", "[unit]") {
  REQUIRE_OK(Parse(", rho_clip: 2, c_clip: 1.5").status());
  const absl::Status status = Parse(", rho_clip: 1, c_clip: 1.5").status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(status.message().find("c_clip: 1.5 is more than rho_clip: 1") != std::string::npos);
  CHECK_FALSE(Parse(", rho_clip: 0").ok());
  CHECK_FALSE(Parse(", c_clip: -1").ok());
}

TEST_CASE("IMPALA's options are read, printed and read again", "[unit]") {
  const Experiment experiment = testing::ValueOf(
      Parse(", unroll: 5, lambda: 1, value_weight: 0.25, normalize_advantages: true, entropy: {weight: 0.02}"));
  const auto& options = dynamic_cast<const ImpalaOptions&>(*experiment.algorithm_options);
  CHECK(options.unroll == 5);
  CHECK(options.lambda == 1);
  CHECK(options.value_weight == 0.25);
  CHECK(options.normalize_advantages);
  CHECK(options.entropy.weight == Schedule(0.02));
  CHECK(ToYaml(testing::ValueOf(ParseExperiment(ToYaml(experiment), "again", {}, BuiltinAlgorithmDefinitions()))) ==
        ToYaml(experiment));
  CHECK_FALSE(Parse(", unroll: 0").ok());
  CHECK_FALSE(Parse(", lambda: 1.1").ok());
}

}  // namespace
}  // namespace waggle
