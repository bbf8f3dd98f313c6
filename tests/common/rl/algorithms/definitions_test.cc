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
      for (const char* const given : {"0.9", "0.6", "{from: 0.4, to: 1, of: learner_steps, until: 100000}"}) {
        CHECK(Problem(algorithm, std::string(", importance_exponent: ") + given, sampler) ==
              "test.yaml:1: algorithm.importance_exponent: means nothing to the sampler uniform; wanted none, or "
              "replay.sampler.kind: prioritized");
      }
    }
    CHECK(Problem(algorithm, "", "{kind: uniform, priority_epsilon: 0.5}") ==
          "test.yaml:2: replay.sampler.priority_epsilon: means nothing to the sampler uniform; wanted kind: "
          "prioritized, or none");
  }
}

TEST_CASE("rows count alike where items are not drawn by priority", "[unit]") {
  for (const char* const algorithm : {"apex_dqn", "r2d2", "ddpg", "td3", "sac"}) {
    INFO(algorithm);
    const Experiment experiment = testing::ValueOf(
        ParseExperiment(std::string("algorithm: {name: ") + algorithm +
                            "}\nreplay: {servers: 2, sampler: {kind: uniform}}\nstop: {max_seconds: 1}\n",
                        "test.yaml", {}, BuiltinAlgorithmDefinitions()));
    CHECK(experiment.algorithm_options->ImportanceExponentAt(Progress()) == 0);
    CHECK_THAT(ToYaml(experiment), !Catch::Contains("importance_exponent"));
  }
}

TEST_CASE("an importance exponent is a number in [0, 1], wherever the sampler stands", "[unit]") {
  for (const char* const algorithm : {"apex_dqn", "r2d2", "ddpg", "td3", "sac"}) {
    INFO(algorithm);
    CHECK(Problem(algorithm, ", importance_exponent: 0", "{kind: prioritized}").empty());
    CHECK(Problem(algorithm, ", importance_exponent: 1", "{kind: prioritized}").empty());
    CHECK_THAT(Problem(algorithm, ", importance_exponent: 1.5", "{kind: prioritized}"),
               Catch::Contains("algorithm.importance_exponent: got the number 1.5; wanted a number in [0, 1]"));
    // A sampler that is wrong may be meant to draw by priority.
    CHECK_THAT(Problem(algorithm, ", importance_exponent: 0.5", "{kind: prioritised}"),
               Catch::Contains("sampler.kind: ") && !Catch::Contains("importance_exponent"));
  }
}

TEST_CASE("what an earlier version has printed with every key in it is read, and a user's is refused", "[unit]") {
  const std::string yaml =
      "algorithm:\n"
      "  name: apex_dqn\n"
      "  importance_exponent: 0.4\n"
      "  priority_epsilon: 0.01\n"
      "  update_rate: 0.02\n"
      "  exploration: {type: epsilon_greedy}\n"
      "  optimizer: {type: sgd, beta1: 0.9, amsgrad: false}\n"
      "networks:\n"
      "  q:\n"
      "    torso: [{type: mlp, units: [8], channels: 32, kernel: 3}]\n"
      "    core: {type: none, units: 64}\n"
      "    heads: {q: {type: dueling, std: free, initial_std: 1, min_log_std: -20, max_log_std: 2}}\n"
      "replay:\n"
      "  sampler: {kind: uniform, priority_exponent: 0.6, priority_epsilon: 0, recent_share: 0, recent_items: 1}\n"
      "  rate_limiter: {samples_per_insert: 0, error_buffer: 0}\n"
      "  log_sync: true\n"
      "learner: {inference: {batch_rows: 256}, gradient_server: {reducers: 0, batch: 1}}\n"
      "evaluation: {enabled: false, episodes: 20}\n"
      "stop: {max_seconds: 1}\n";
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const std::string strict(ParseExperiment(yaml, "x.yaml", {}, definitions).status().message());
  for (const char* const key : {"importance_exponent", "priority_epsilon", "update_rate", "beta1", "channels",
                                "core.units", "sampler.priority_exponent", "error_buffer", "log_sync",
                                "learner.inference", "learner.gradient_server", "evaluation.episodes"}) {
    CHECK_THAT(strict, Catch::Contains(key));
  }
  const Experiment experiment = testing::ValueOf(ParseStoredExperiment(yaml, "x.yaml", {}, definitions));
  CHECK(experiment.networks.at("q").torso[0].units == std::vector<int64_t>{8});
  CHECK_THAT(ToYaml(experiment), Catch::Contains("  target_update_rate: 0.02\n"));
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {Discrete("action", 2)};
  REQUIRE_OK(CheckAgainstEnvironment(experiment, environment, definitions));
  // A user may have what it prints now.
  CHECK(ToYaml(testing::ValueOf(ParseExperiment(ToYaml(experiment), "x.yaml", {}, definitions))) == ToYaml(experiment));
  // What has never been a key is a mistake there too.
  REQUIRE_CODE(ParseStoredExperiment(yaml + "lerner: {}\n", "x.yaml", {}, definitions).status(),
               absl::StatusCode::kInvalidArgument);
}

TEST_CASE("the earlier name of the rate at which targets follow is refused with that of now", "[unit]") {
  for (const char* const algorithm : {"apex_dqn", "r2d2", "ddpg", "td3", "sac"}) {
    INFO(algorithm);
    CHECK(Problem(algorithm, ", target_update_rate: 0.5", "{kind: uniform}").empty());
    const std::string problem = Problem(algorithm, ", update_rate: 0.5", "{kind: uniform}");
    CHECK_THAT(problem, Catch::Contains("algorithm.update_rate: ") && Catch::Contains("\"target_update_rate\""));
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
