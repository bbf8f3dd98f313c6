#include <string>
#include <utility>

#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/td3/td3.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

absl::StatusOr<Experiment> Parse(const std::string& more) {
  return ParseExperiment("algorithm: {name: td3" + more + "}\nstop: {max_learner_steps: 10}\n", "test.yaml", {},
                         BuiltinAlgorithmDefinitions());
}

EnvironmentSpec Environment(SpaceLeaf action) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {std::move(action)};
  return environment;
}

TEST_CASE("TD3 has an actor and twin critics of its actions, all with targets, and publishes the actor", "[unit]") {
  const ExperimentPlan plan = testing::ValueOf(PlanExperiment(testing::ValueOf(Parse(", n_step: 3")),
                                                              Environment(Box("action", DType::kFloat32, {2}, -1, 1)),
                                                              BuiltinAlgorithmDefinitions()));
  REQUIRE(plan.networks.size() == 2);
  CHECK(plan.acting()->name == "actor");
  CHECK(plan.acting()->heads[0].kind == HeadKind::kDeterministic);
  CHECK(plan.acting()->heads[0].outputs == 2);
  CHECK(plan.networks[0].has_target);
  CHECK(plan.networks[1].has_target);
  CHECK(plan.networks[1].takes_action);
  CHECK(plan.networks[1].members == 2);
  CHECK(plan.algorithm.tables.at(0).window.length == 4);
  CHECK(plan.algorithm.tables.at(0).table.sampler.kind == SelectorKind::kUniform);
  CHECK(plan.algorithm.exploration.type == "gaussian");
  CHECK(plan.algorithm.exploration.warm_up_steps == 1000);
}

TEST_CASE("TD3's options are read, printed and read again", "[unit]") {
  const Experiment experiment = testing::ValueOf(
      Parse(", critics: 3, target_noise: 0.1, target_noise_clip: 0.3, policy_delay: 4, exploration: {sigma: 0.3}"));
  const auto& options = dynamic_cast<const Td3Options&>(*experiment.algorithm_options);
  CHECK(options.critics == 3);
  CHECK(options.target_noise == 0.1);
  CHECK(options.target_noise_clip == 0.3);
  CHECK(options.policy_delay == 4);
  CHECK(options.exploration.sigma == 0.3);
  CHECK(ToYaml(testing::ValueOf(ParseExperiment(ToYaml(experiment), "again", {}, BuiltinAlgorithmDefinitions()))) ==
        ToYaml(experiment));
  CHECK_FALSE(Parse(", target_update_rate: 0").ok());
  CHECK_FALSE(Parse(", policy_delay: 0").ok());
}

}  // namespace
}  // namespace waggle
