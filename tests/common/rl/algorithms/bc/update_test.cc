#include <cmath>

#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::RandomTransitions;
using testing::RowOf;

TEST_CASE("bc descends the negative logarithm of recorded actions' probabilities", "[unit]") {
  for (const SpaceLeaf& action : {Box("action", DType::kFloat32, {2}, -1, 1), Discrete("action", 4)}) {
    const EnvironmentSpec environment = testing::EnvironmentOf(3, action);
    const auto trainee =
        testing::TraineeOn("{policy: {torso: [{type: mlp, units: [5], activation: tanh}]}}\nreplay: {import: episodes}",
                           "name: bc", environment, torch::kFloat64, 1);
    const TensorBatch batch = RandomTransitions(environment, 6, 3);
    const Net& policy = trainee->model().net("policy");
    double loss = 0;
    for (int64_t row = 0; row < 6; ++row) {
      const Output output = policy(RowOf(batch, kObservation, row));
      if (action.kind == SpaceKind::kDiscrete) {
        const torch::Tensor logits = output.policy().LogProbabilities()[0];
        loss -= logits[batch.at(kAction)[row].item<int64_t>()].item<double>() / 6;
        continue;
      }
      for (int64_t i = 0; i < 2; ++i) {
        const auto sigma = output.policy().stddev()[0][i].item<double>();
        const double z =
            (batch.at(kAction)[row][i].item<double>() - output.policy().mean()[0][i].item<double>()) / sigma;
        loss += (0.5 * z * z + std::log(sigma) + 0.5 * std::log(2 * M_PI)) / 6;
      }
    }
    CaptureStepper stepper;
    CHECK(testing::Metric(testing::Updated(trainee.get(), batch, &stepper), "policy_loss") == Approx(loss));
    testing::CheckGradients(trainee.get(), {policy.group()}, batch);
  }
}

}  // namespace
}  // namespace waggle
