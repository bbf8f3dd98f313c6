// The task of the paper (arXiv 2202.01312): a demonstrator whose actions have noise of two steps, on a linear system.

#include <cstdint>
#include <memory>
#include <string>

#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using torch::Tensor;

constexpr int64_t kSteps = 4'000;
constexpr double kGain = -0.8;  // The demonstrator's: a = kGain s + u + u_before.
constexpr double kNoise = 0.1;
constexpr int kUpdates = 1'500;

EnvironmentSpec Environment() {
  return testing::EnvironmentOf(1, Box("action", DType::kFloat32, {1}, -1, 1));
}

// Steps of s' = 0.9 s + 0.5 a. A state has the noise before in it, so that a regression of actions on states has the
// gain kGain + 0.5.
TensorBatch Demonstrations() {
  Noise random(3, torch::kCPU);
  const Tensor noise = random.NormalLike(torch::empty({kSteps + 2}, torch::kFloat64)) * kNoise;
  const Tensor states = torch::zeros({kSteps + 1, 1}, torch::kFloat64);
  const Tensor actions = torch::zeros({kSteps + 1, 1}, torch::kFloat64);
  for (int64_t t = 0; t <= kSteps; ++t) {
    actions[t] = kGain * states[t] + noise[t + 1] + noise[t];
    if (t < kSteps) {
      states[t + 1] = 0.9 * states[t] + 0.5 * actions[t];
    }
  }
  TensorBatch batch = testing::RandomTransitions(Environment(), kSteps, 1);
  batch.fields[kObservation] = states.narrow(0, 0, kSteps);
  batch.fields["next_observation"] = states.narrow(0, 1, kSteps);
  batch.fields[kAction] = actions.narrow(0, 0, kSteps);
  batch.fields["next_action"] = actions.narrow(0, 1, kSteps);
  batch.fields["next_step_type"] = torch::ones({kSteps}, torch::kInt32);
  return batch;
}

// The gain that is learned from the demonstrations, from the slope of the policy around 0.
double LearnedGain(double cloning_weight) {
  const std::string network = "{torso: [{type: mlp, units: [16], activation: tanh}]}";
  const auto trainee =
      testing::TraineeOn("{policy: " + network + ", residual: " + network + "}\nreplay: {import: episodes}",
                         "name: causal_bc, cloning_weight: " + std::to_string(cloning_weight) +
                             ", policy_optimizer: {learning_rate: 0.003}, residual_optimizer: {learning_rate: 0.01}",
                         Environment(), torch::kFloat64, 1);
  const TensorBatch batch = Demonstrations();
  LocalStepper stepper;
  for (int update = 0; update < kUpdates; ++update) {
    testing::Updated(trainee.get(), batch, &stepper);
  }
  const Tensor states = torch::tensor({{-0.2}, {0.2}}, torch::kFloat64);
  const Tensor chosen = trainee->model().net("policy")({states}).action();
  return (chosen[1] - chosen[0]).item<double>() / 0.4;
}

TEST_CASE("causal_bc finds the gain of a demonstrator with lasting noise, and cloning alone does not", "[unit]") {
  CHECK(LearnedGain(0.05) == Approx(kGain).margin(0.1));
  CHECK(LearnedGain(1e4) == Approx(kGain + 0.5).margin(0.1));
}

}  // namespace
}  // namespace waggle
