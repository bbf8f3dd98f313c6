#include "common/rl/algorithms/definitions.h"

#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("every algorithm that ships is described and has valid defaults", "[unit]") {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  for (const std::string& name : definitions.Names()) {
    INFO(name);
    const AlgorithmDefinition& definition = *testing::ValueOf(definitions.Find(name));
    CHECK_FALSE(definition.description.empty());
    CHECK_FALSE(definition.action_kinds.empty());
    const Experiment experiment = testing::ValueOf(
        ParseExperiment("algorithm: {name: " + name + "}\nstop: {max_seconds: 1}\n", "test.yaml", {}, definitions));
    CHECK_FALSE(experiment.networks.empty());
    // What it prints is what it reads.
    const Experiment again = testing::ValueOf(ParseExperiment(ToYaml(experiment), "again.yaml", {}, definitions));
    CHECK(ToYaml(again) == ToYaml(experiment));
  }
}

// What is wrong with this experiment in an environment that the algorithm can learn.
std::string Problem(const std::string& algorithm, const std::string& options, const std::string& sampler) {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const std::vector<SpaceKind>& kinds = testing::ValueOf(definitions.Find(algorithm))->action_kinds;
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {kinds[0] == SpaceKind::kBox ? Box("action", DType::kFloat32, {2}, -1, 1)
                                                     : Discrete("action", 2)};
  const absl::StatusOr<Experiment> experiment = ParseExperiment(
      "algorithm: {name: " + algorithm + options + "}\nreplay: {sampler: " + sampler + "}\nstop: {max_seconds: 1}\n",
      "test.yaml", {}, definitions);
  return std::string(experiment.ok() ? CheckAgainstEnvironment(*experiment, environment, definitions).message()
                                     : experiment.status().message());
}

TEST_CASE("what belongs to drawing by priority is refused where nothing is drawn so, by every algorithm", "[unit]") {
  for (const char* const algorithm : {"apex_dqn", "r2d2", "ddpg", "td3", "sac"}) {
    INFO(algorithm);
    CHECK(Problem(algorithm, ", importance_exponent: 0.9", "{kind: prioritized}").empty());
    // What the algorithm's defaults say of priorities is nothing to another sampler.
    CHECK(Problem(algorithm, "", "{kind: uniform}").empty());
    for (const std::string sampler : {"{kind: uniform}", "{kind: uniform, recent_share: 0.5}"}) {
      CHECK(Problem(algorithm, ", importance_exponent: 0.9", sampler) ==
            "algorithm.importance_exponent: means nothing to the sampler uniform; wanted none, or "
            "replay.sampler.kind: prioritized");
    }
    CHECK(Problem(algorithm, "", "{kind: uniform, priority_epsilon: 0.5}") ==
          "test.yaml:2: replay.sampler.priority_epsilon: means nothing to the sampler uniform; wanted kind: "
          "prioritized, or none");
  }
}

TEST_CASE("importance weights are asked for where items are drawn by priority, unless told otherwise", "[unit]") {
  for (const char* const algorithm : {"apex_dqn", "r2d2", "ddpg", "td3", "sac"}) {
    INFO(algorithm);
    const std::string yaml = ToYaml(
        testing::ValueOf(ParseExperiment(std::string("algorithm: {name: ") + algorithm +
                                             "}\nreplay: {sampler: {kind: prioritized}}\n" + "stop: {max_seconds: 1}\n",
                                         "test.yaml", {}, BuiltinAlgorithmDefinitions())));
    const bool is_r2d2 = std::string(algorithm) == "r2d2";
    CHECK_THAT(yaml, Catch::Contains(is_r2d2 ? "importance_exponent: 0.6\n"
                                             : "importance_exponent:\n    from: 0.4\n    to: 1\n"));
  }
}

}  // namespace
}  // namespace waggle
