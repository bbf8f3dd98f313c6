#include "common/rl/modules/icm/icm.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

std::unique_ptr<AlgorithmTrainee> IcmTrainee(const std::string& algorithm, const std::string& acting,
                                             const EnvironmentSpec& environment, const std::string& keys = "") {
  const std::string network = "{torso: [{type: mlp, units: [8], activation: tanh}]}";
  return testing::TraineeOn("{" + acting + ": " + network + ", icm_features: " + network + ", icm_inverse: " + network +
                                ", icm_forward: " + network + "}",
                            algorithm + ", modules: [{type: icm, features: 3" + keys + "}]", environment,
                            torch::kFloat64, 1);
}

TEST_CASE("each of its three networks descends its loss", "[unit]") {
  const SpaceLeaf action = GENERATE(Discrete("action", 3), Box("action", DType::kFloat32, {2}, -1, 1));
  const EnvironmentSpec environment = testing::EnvironmentOf(3, action);
  const bool is_choice = action.kind == SpaceKind::kDiscrete;
  const auto trainee =
      IcmTrainee(is_choice ? "name: apex_dqn, n_step: 1" : "name: td3", is_choice ? "q" : "critic", environment);
  std::vector<ParameterGroup*> groups;
  for (const char* const name : {kIcmFeatures, kIcmInverse, kIcmForward}) {
    groups.push_back(trainee->model().net(name).group());
  }
  testing::CheckGradients(trainee.get(), groups, testing::RandomTransitions(environment, 5, 1));
}

TEST_CASE("features tell the action that was taken", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(4, Discrete("action", 2));
  const auto trainee = IcmTrainee("name: apex_dqn, n_step: 1", "q", environment, ", optimizer: {learning_rate: 0.01}");
  TensorBatch batch = testing::RandomTransitions(environment, 32, 1);
  // The action moves the first element.
  batch.fields["next_observation"] = batch.at(kObservation).clone();
  batch.fields["next_observation"].select(1, 0).add_(batch.at(kAction).to(torch::kFloat64) * 2 - 1);
  LocalStepper stepper;
  const UpdateResult first = testing::Updated(trainee.get(), batch, &stepper);
  UpdateResult last;
  for (int update = 0; update < 500; ++update) {
    last = testing::Updated(trainee.get(), batch, &stepper);
  }
  CHECK(testing::Metric(first, "icm_inverse_loss") > 0.5);
  CHECK(testing::Metric(last, "icm_inverse_loss") < 0.1);
}

}  // namespace
}  // namespace waggle
