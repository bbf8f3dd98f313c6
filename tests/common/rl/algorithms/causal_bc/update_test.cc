#include <cmath>
#include <string>

#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::RandomTransitions;
using testing::RowOf;
using torch::Tensor;

constexpr int64_t kRows = 6;

EnvironmentSpec Environment() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

std::unique_ptr<AlgorithmTrainee> CausalBc(const std::string& keys = "") {
  const std::string network = "{torso: [{type: mlp, units: [5], activation: tanh}]}";
  return testing::TraineeOn("{policy: " + network + ", residual: " + network + "}\nreplay: {import: episodes}",
                            "name: causal_bc" + keys, Environment(), torch::kFloat64, 1);
}

// The next row of every second transition is an episode's last; after every third is a terminal state. An action
// follows rows 2 and 4.
TensorBatch Batch() {
  TensorBatch batch = RandomTransitions(Environment(), kRows, 3);
  batch.fields["next_action"] = torch::rand({kRows, 2}, torch::kFloat64) * 2 - 1;
  batch.fields["next_step_type"] = torch::arange(kRows).remainder(2).to(torch::kInt32) + 1;
  return batch;
}

TEST_CASE("causal_bc's policy and its residual play the paper's game, row by row", "[unit]") {
  const auto trainee = CausalBc(", cloning_weight: 0.2, residual_penalty: 0.3");
  const TensorBatch batch = Batch();
  double of_policy = 0, of_residual = 0;
  for (const int64_t row : {2, 4}) {
    const Tensor chosen = trainee->model().net("policy")(RowOf(batch, "next_observation", row)).action()[0];
    const Tensor predicted = trainee->model().net("residual")(RowOf(batch, kObservation, row)).vector("residual")[0];
    double size = 0;
    for (int64_t i = 0; i < 2; ++i) {
      const double error = batch.at("next_action")[row][i].item<double>() - chosen[i].item<double>();
      const auto f = predicted[i].item<double>();
      of_policy += (2 * error * f + 0.2 * error * error) / 2;
      of_residual += (f * f - 2 * error * f) / 2;
      size += f * f;
    }
    of_residual += 0.3 * std::sqrt(size) / 2;
  }
  CaptureStepper stepper;
  const UpdateResult result = testing::Updated(trainee.get(), batch, &stepper);
  CHECK(Metric(result, "policy_loss") == Approx(of_policy));
  CHECK(Metric(result, "residual_loss") == Approx(of_residual));
}

TEST_CASE("gradients of causal_bc are finite differences of its losses", "[unit]") {
  const auto trainee = CausalBc();
  testing::CheckGradients(trainee.get(),
                          {trainee->model().net("policy").group(), trainee->model().net("residual").group()}, Batch());
}

}  // namespace
}  // namespace waggle
