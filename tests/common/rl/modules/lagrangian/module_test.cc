#include <cmath>

#include "common/rl/modules/lagrangian/lagrangian.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;

EnvironmentSpec VectorEnvironment() {
  EnvironmentSpec environment = testing::EnvironmentOf(3, Box("action", DType::kFloat32, {1}, -1, 1));
  environment.rewards = {ArraySpec{kReward, DType::kFloat32, {2}}};
  return environment;
}

std::unique_ptr<AlgorithmTrainee> LagrangianTrainee(const std::string& keys, const std::string& algorithm = "sac") {
  const std::string network = "{torso: [{type: mlp, units: [4]}]}";
  return testing::TraineeOn("{actor: " + network + ", critic: " + network + "}",
                            "name: " + algorithm + ", n_step: 1, modules: [{type: lagrangian, " + keys + "}]",
                            VectorEnvironment(), torch::kFloat64, 1);
}

// Updates with newest rewards of this mean in the second dimension.
UpdateResult UpdateWith(AlgorithmTrainee* trainee, double mean, Stepper* stepper) {
  TensorBatch batch = testing::RandomTransitions(VectorEnvironment(), 6, 1);
  batch.fields[kReward] = torch::randn({6, 2, 2}, torch::kFloat64);
  TensorBatch newest;
  newest.size = 4;
  newest.fields[kReward] = torch::tensor({{5.0, mean - 1}, {1.0, mean + 1}, {0.0, mean - 2}, {0.0, mean + 2}});
  const std::vector<const TensorBatch*> batches = {&batch, &newest};
  return testing::ValueOf(trainee->Update(batches, Progress(), stepper));
}

TEST_CASE("a weight grows while its bound does not hold, and falls while it does, in both forms", "[unit]") {
  for (const std::string form : {"softplus", "exp"}) {
    INFO(form);
    const auto trainee = LagrangianTrainee("form: " + form + ", bounds: [{dimension: 1, least: -0.5, weight: 2}]");
    LocalStepper stepper;
    const auto weight = [&](double mean) {
      const UpdateResult result = UpdateWith(trainee.get(), mean, &stepper);
      CHECK(Metric(result, "reward_1_mean") == Approx(mean));
      return Metric(result, "lagrangian_weight_1");
    };
    double last = 2;
    for (int update = 0; update < 20; ++update) {
      const double now = weight(-0.7);
      CHECK(now > last);
      last = now;
    }
    for (int update = 0; update < 40; ++update) {  // Adam remembers the earlier gradients.
      last = weight(0.7);
    }
    CHECK(last < 2);
  }
}

TEST_CASE("a weight that follows evaluations waits for the first one", "[unit]") {
  const auto trainee = LagrangianTrainee("rewards: evaluations, bounds: [{dimension: 1, least: -0.5, weight: 2}]");
  LocalStepper stepper;
  TensorBatch batch = testing::RandomTransitions(VectorEnvironment(), 6, 1);
  batch.fields[kReward] = torch::randn({6, 2, 2}, torch::kFloat64);
  const auto update = [&] { return testing::ValueOf(trainee->Update(batch, Progress(), &stepper)); };
  CHECK(Metric(update(), "lagrangian_weight_1") == Approx(2));
  trainee->SetEvaluatedRewards({5, -0.7});
  const UpdateResult grown = update();
  CHECK(Metric(grown, "reward_1_mean") == Approx(-0.7));
  CHECK(Metric(grown, "lagrangian_weight_1") > 2);
  trainee->SetEvaluatedRewards({5, 0.7});
  double last = 0;
  for (int i = 0; i < 20; ++i) {
    last = Metric(update(), "lagrangian_weight_1");
  }
  CHECK(last < 2);
}

TEST_CASE("the number's gradient is that of the weight times the room below the mean", "[unit]") {
  for (const std::string form : {"softplus", "exp"}) {
    INFO(form);
    const auto trainee = LagrangianTrainee("form: " + form + ", bounds: [{dimension: 1, least: -0.5, weight: 2}]");
    CaptureStepper stepper;
    const UpdateResult result = UpdateWith(trainee.get(), -0.7, &stepper);
    CHECK(Metric(result, "lagrangian_weight_1_loss") == Approx(2 * -0.2));
    // The softplus's slope is the logistic function of its number, 1 - e^-weight; the exponential's is itself.
    const double slope = form == "exp" ? 2 : 1 - std::exp(-2.0);
    CHECK(stepper.gradients().at("lagrangian_weight_1").item<double>() == Approx(slope * -0.2));
  }
}

TEST_CASE("a weight at an end of its range goes no further, and comes back", "[unit]") {
  const auto trainee = LagrangianTrainee(
      "form: exp, largest_weight: 2, bounds: [{dimension: 1, weight: 2}, {dimension: 0, least: -9, weight: 0.001}]");
  CaptureStepper stepper;
  UpdateWith(trainee.get(), -0.7, &stepper);
  CHECK(stepper.gradients().at("lagrangian_weight_1").item<double>() == 0);
  CHECK(stepper.gradients().at("lagrangian_weight_0").item<double>() == 0);
  UpdateWith(trainee.get(), 0.7, &stepper);
  CHECK(stepper.gradients().at("lagrangian_weight_1").item<double>() > 0);
}

TEST_CASE("the algorithm learns with the weights, which add up to one if they are normalised", "[unit]") {
  // TD3 learns from the weighted sum.
  const auto loss = [](const std::string& keys) {
    const auto trainee = LagrangianTrainee(keys, "td3");
    CaptureStepper stepper;
    return Metric(UpdateWith(trainee.get(), 0.5, &stepper), "critic_loss");
  };
  const std::string bound = "bounds: [{dimension: 1, least: 0.5, weight: 3}]";  // No room: the weight stays.
  const auto plain = [](double first, double second) {
    const std::string network = "{torso: [{type: mlp, units: [4]}]}";
    const auto trainee = testing::TraineeOn(
        "{actor: " + network + ", critic: " + network + "}",
        "name: td3, n_step: 1, reward_weights: [" + std::to_string(first) + ", " + std::to_string(second) + "]",
        VectorEnvironment(), torch::kFloat64, 1);
    TensorBatch batch = testing::RandomTransitions(VectorEnvironment(), 6, 1);
    batch.fields[kReward] = torch::randn({6, 2, 2}, torch::kFloat64);
    CaptureStepper stepper;
    return Metric(testing::Updated(trainee.get(), batch, &stepper), "critic_loss");
  };
  CHECK(loss("normalize: false, " + bound) == Approx(plain(1, 3)));
  CHECK(loss("normalize: true, " + bound) == Approx(plain(0.25, 0.75)));
  CHECK(plain(1, 3) != Approx(plain(1, 1)));
}

}  // namespace
}  // namespace waggle
