#include "common/rl/modules/implementations.h"
#include "common/rl/modules/reward_estimation/reward_estimation.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

std::unique_ptr<AlgorithmTrainee> EstimatingTrainee(const EnvironmentSpec& environment, const std::string& keys = "") {
  const std::string network = "{torso: [{type: mlp, units: [8], activation: tanh}]}";
  return testing::TraineeOn("{q: " + network + ", reward_model: " + network + "}",
                            "name: apex_dqn, n_step: 1, modules: [{type: reward_estimation" + keys + "}]", environment,
                            torch::kFloat64, 1);
}

TEST_CASE("the model of rewards descends the mean square of its error", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 2));
  const auto trainee = EstimatingTrainee(environment);
  testing::CheckGradients(trainee.get(), {trainee->model().net(kRewardModel).group()},
                          testing::RandomTransitions(environment, 5, 1));
}

TEST_CASE("an algorithm learns from the model's rewards, or from a mixture", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 2));
  const auto trainee = EstimatingTrainee(environment);
  Model& model = trainee->model();
  for (const double weight : {1.0, 0.25, 0.0}) {
    RewardEstimationOptions options;
    options.weight = weight;
    const auto module =
        testing::ValueOf(testing::ValueOf(BuiltinModules().Find("reward_estimation"))->create(options, &model));
    const TensorBatch batch = testing::RandomTransitions(environment, 5, 1);
    torch::Tensor estimate;
    {
      const torch::NoGradGuard no_grad;
      estimate = model.net(kRewardModel)({batch.at(kObservation)}, batch.at(kAction)).vector("reward").squeeze(-1);
    }
    CaptureStepper stepper;
    Noise noise(1, torch::kCPU);
    UpdateContext context(&stepper, Progress(), &noise);
    TableBatches batches = {{"transitions", batch}};
    module->Rewrite(environment, &batches, &context);
    REQUIRE_OK(context.status());
    const torch::Tensor own = batch.at(kReward).select(1, 0);
    CHECK(torch::allclose(batches.at("transitions").at(kReward).select(1, 0), (1 - weight) * own + weight * estimate));
    CHECK(torch::equal(batch.at(kReward), testing::RandomTransitions(environment, 5, 1).at(kReward)));
  }
}

TEST_CASE("rewards that chance moves become their mean", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(2, Discrete("action", 2));
  const auto trainee = EstimatingTrainee(environment, ", optimizer: {learning_rate: 0.02}");
  TensorBatch batch = testing::RandomTransitions(environment, 64, 1);
  batch.fields[kObservation] = torch::zeros({64, 2}, torch::kFloat64);
  batch.fields[kReward] = torch::randint(2, {64, 2}, torch::kInt64).to(torch::kFloat64);
  const torch::Tensor taken = batch.at(kAction) == 1;
  const double mean = batch.at(kReward).select(1, 0).masked_select(taken).mean().item<double>();
  LocalStepper stepper;
  for (int update = 0; update < 500; ++update) {
    testing::Updated(trainee.get(), batch, &stepper);
  }
  const torch::NoGradGuard no_grad;
  const double estimate =
      trainee->model()
          .net(kRewardModel)({torch::zeros({1, 2}, torch::kFloat64)}, torch::ones({1}, torch::kInt64))
          .vector("reward")
          .item<double>();
  CHECK(estimate == Approx(mean).margin(0.02));
}

}  // namespace
}  // namespace waggle
