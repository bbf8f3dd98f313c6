#include "common/rl/modules/rnd/rnd.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

std::unique_ptr<AlgorithmTrainee> RndTrainee(const EnvironmentSpec& environment, const std::string& keys = "") {
  const std::string network = "{torso: [{type: mlp, units: [8], activation: tanh}]}";
  return testing::TraineeOn("{q: " + network + ", rnd_target: " + network + ", rnd_predictor: " + network + "}",
                            "name: apex_dqn, n_step: 1, modules: [{type: rnd, features: 3" + keys + "}]", environment,
                            torch::kFloat64, 1);
}

TEST_CASE("the predictor learns what it has seen better than what it has not", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(4, Discrete("action", 2));
  const auto trainee = RndTrainee(environment, ", optimizer: {learning_rate: 0.01}");
  const TensorBatch seen = testing::RandomTransitions(environment, 16, 1);
  const TensorBatch other = testing::RandomTransitions(environment, 16, 2);
  const auto error = [&](const TensorBatch& batch) {
    const torch::NoGradGuard no_grad;
    const Observations next = {batch.at("next_observation")};
    return (trainee->model().net(kRndPredictor)(next).vector("features") -
            trainee->model().net(kRndTarget)(next).vector("features"))
        .square()
        .mean()
        .item<double>();
  };
  const double seen_before = error(seen), other_before = error(other);
  const torch::Tensor target = trainee->model().net(kRndTarget).network().parameters().values().clone();
  LocalStepper stepper;
  double bonus = 0;
  for (int update = 0; update < 300; ++update) {
    bonus = testing::Metric(testing::Updated(trainee.get(), seen, &stepper), "rnd_bonus");
  }
  CHECK(error(seen) < 0.05 * seen_before);
  CHECK(error(other) / other_before > 2 * error(seen) / seen_before);
  CHECK(bonus == Approx(error(seen)).epsilon(0.3));
  CHECK(torch::equal(target, trainee->model().net(kRndTarget).network().parameters().values()));
}

TEST_CASE("the predictor descends the mean square of its error", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 2));
  const auto trainee = RndTrainee(environment);
  testing::CheckGradients(trainee.get(), {trainee->model().net(kRndPredictor).group()},
                          testing::RandomTransitions(environment, 5, 1));
}

}  // namespace
}  // namespace waggle
