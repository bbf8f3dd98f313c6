#include <string>
#include <utility>

#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"
#include "common/rl/algorithms/ddpg/ddpg.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

absl::StatusOr<Experiment> Parse(const std::string& more) {
  return ParseExperiment("algorithm: {name: ddpg" + more + "}\nstop: {max_learner_steps: 10}\n", "test.yaml", {},
                         BuiltinAlgorithmDefinitions());
}

EnvironmentSpec Environment(SpaceLeaf action) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {std::move(action)};
  return environment;
}

TEST_CASE("DDPG has an actor and a critic of its actions, both with targets, and publishes the actor", "[unit]") {
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
  CHECK_FALSE(plan.networks[1].members.has_value());
  CHECK(plan.algorithm.tables.at(0).window.length == 4);
  CHECK(plan.algorithm.tables.at(0).table.sampler.kind == SelectorKind::kUniform);
  CHECK(plan.algorithm.exploration.type == "ornstein_uhlenbeck");
  CHECK(plan.algorithm.exploration.warm_up_steps == 1000);
}

TEST_CASE("DDPG's options are read, printed and read again", "[unit]") {
  const Experiment experiment =
      testing::ValueOf(Parse(", target_update_rate: 0.001, exploration: {type: gaussian, sigma: 0.3}, "
                             "critic_optimizer: {weight_decay: 0.01}"));
  const auto& options = dynamic_cast<const DdpgOptions&>(*experiment.algorithm_options);
  CHECK(options.target_update_rate == 0.001);
  CHECK(options.exploration.type == "gaussian");
  CHECK(options.critic_optimizer.WeightDecay() == 0.01);
  CHECK(ToYaml(testing::ValueOf(ParseExperiment(ToYaml(experiment), "again", {}, BuiltinAlgorithmDefinitions()))) ==
        ToYaml(experiment));
  CHECK_FALSE(Parse(", target_update_rate: 0").ok());
  CHECK_FALSE(Parse(", critics: 2").ok());
}

}  // namespace
}  // namespace waggle
