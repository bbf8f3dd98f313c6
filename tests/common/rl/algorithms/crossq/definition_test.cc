#include <string>

#include "common/config/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

EnvironmentSpec Environment() {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {Box("action", DType::kFloat32, {2}, -1, 1)};
  return environment;
}

absl::StatusOr<ExperimentPlan> PlanOf(const std::string& sections) {
  const absl::StatusOr<Experiment> experiment =
      ParseExperiment("stop: {max_seconds: 1}\n" + sections, "x.yaml", {}, BuiltinAlgorithmDefinitions());
  return experiment.ok() ? PlanExperiment(*experiment, Environment(), BuiltinAlgorithmDefinitions())
                         : experiment.status();
}

TEST_CASE("crossq has batch norms and no target", "[unit]") {
  const ExperimentPlan plan = testing::ValueOf(PlanOf("algorithm: {name: crossq}\n"));
  for (const NetworkPlan& network : plan.networks) {
    CHECK(network.HasBatchNorm());
    CHECK_FALSE(network.has_target);
  }
  CHECK_THAT(std::string(PlanOf("algorithm: {name: crossq, target_update_rate: 0.1}\n").status().message()),
             Catch::Contains("target_update_rate: means nothing without a target"));
}

TEST_CASE("batch norms are for one learner, and for algorithms that train them", "[unit]") {
  CHECK_THAT(std::string(PlanOf("algorithm: {name: crossq}\nlearner: {processes: 2}\n").status().message()),
             Catch::StartsWith("learner.processes: 2: each would move the running statistics"));
  CHECK_THAT(
      std::string(
          PlanOf("algorithm: {name: sac}\nnetworks: {critic: {torso: [{type: batch_norm}]}}\n").status().message()),
      Catch::StartsWith("networks.critic: got a batch_norm layer"));
}

}  // namespace
}  // namespace waggle
