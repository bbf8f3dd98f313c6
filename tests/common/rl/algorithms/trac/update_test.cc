#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using testing::ActorCriticOf;
using testing::Metric;
using testing::RandomUnrolls;
using testing::Updated;
using torch::Tensor;

constexpr char kSame[] = ", unroll: 5, lambda: 0.7, optimizer: {type: sgd, learning_rate: 0.5, gradient_clip_norm: 0}";

ParameterGroup* Group(AlgorithmTrainee* trainee) {
  return trainee->model().net("actor_critic").group();
}

// The values after an update.
Tensor After(AlgorithmTrainee* trainee, const TensorBatch& batch) {
  LocalStepper stepper;
  Updated(trainee, batch, &stepper);
  return Group(trainee)->values().clone();
}

// The mean over the steps that count of the divergences of the policies both ways, by definition for choices.
double Moved(const Network& network, const TensorBatch& batch, const Tensor& before, const Tensor& after) {
  const torch::NoGradGuard no_grad;
  Tensor values = network.parameters().values();
  const auto probabilities = [&](const Tensor& parameters) {
    const Tensor kept = values.clone();
    values.narrow(0, 0, parameters.numel()).copy_(parameters);
    std::vector<Tensor> rows;
    for (int64_t row = 0; row < 4; ++row) {
      rows.push_back(network.Forward({batch.at(kObservation)[row]})[0].values.softmax(-1));
    }
    values.copy_(kept);
    return torch::stack(rows);
  };
  const Tensor p = probabilities(before);
  const Tensor q = probabilities(after);
  double sum = 0;
  int count = 0;
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t t = 0; t < 5; ++t) {
      if (batch.at(kStepType)[row][t].item<int32_t>() != 2) {
        sum += ((p[row][t] - q[row][t]) * (p[row][t].log() - q[row][t].log())).sum().item<double>();
        ++count;
      }
    }
  }
  return sum / count;
}

TEST_CASE("a step of TRAC within the limit is A2C's", "[unit]") {
  for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
    const auto trac = ActorCriticOf("name: trac, max_divergence: 1e6" + std::string(kSame), environment);
    const auto a2c = ActorCriticOf("name: a2c" + std::string(kSame), environment);
    const TensorBatch batch = RandomUnrolls(environment, 3);
    CHECK(torch::equal(After(trac.get(), batch), After(a2c.get(), batch)));
  }
}

TEST_CASE("a longer step of TRAC ends on its line, inside the limit, and the value's part stays", "[unit]") {
  for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
    const bool is_choice = environment.actions.size() == 1 && environment.actions[0].kind == SpaceKind::kDiscrete;
    const auto trac = ActorCriticOf("name: trac, max_divergence: 1e-3" + std::string(kSame), environment);
    const auto a2c = ActorCriticOf("name: a2c" + std::string(kSame), environment);
    const TensorBatch batch = RandomUnrolls(environment, 3);
    const Tensor before = Group(trac.get())->values().clone();
    LocalStepper stepper;
    const UpdateResult result = Updated(trac.get(), batch, &stepper);
    const Tensor after = Group(trac.get())->values().clone();
    const Tensor whole = After(a2c.get(), batch);
    CHECK(Metric(result, "pulls") >= 1);
    double share = -1;
    for (int64_t i = 0; i < before.numel(); ++i) {
      const double step = (whole[i] - before[i]).item<double>();
      const double taken = (after[i] - before[i]).item<double>();
      if (testing::IsValues(*Group(trac.get()), i)) {
        CHECK(taken == Approx(step).margin(1e-12));
      } else if (std::abs(step) > 1e-6) {
        share = share < 0 ? taken / step : share;
        CHECK(taken / step == Approx(share).epsilon(1e-6));
      }
    }
    CHECK(share > 0);
    CHECK(share < 1);
    if (is_choice) {
      const Network& network = trac->model().net("actor_critic").network();
      CHECK(Metric(result, "step_divergence") == Approx(Moved(network, batch, before, whole)));
      const double moved = Moved(network, batch, before, after);
      CHECK(moved <= 1e-3);
      CHECK(moved > 0.5e-3);
    }
  }
}

// Two real elements; a gear, two lights and one real element.
TEST_CASE("TRAC's limit is for each element of the action, and its pulls have a limit", "[unit]") {
  const auto pulls = [](const EnvironmentSpec& environment, const std::string& option) {
    const auto trac = ActorCriticOf("name: trac" + option + kSame, environment);
    LocalStepper stepper;
    return Updated(trac.get(), RandomUnrolls(environment, 3), &stepper);
  };
  const auto environments = testing::AllKindsOfActions();
  for (const size_t i : {1, 2}) {
    const double step = Metric(pulls(environments[i], ", max_divergence: 1e6"), "step_divergence");
    const double elements = i == 1 ? 2 : 4;
    const auto with = [&](double limit) {
      return Metric(pulls(environments[i], ", max_divergence: " + std::to_string(limit / elements)), "pulls");
    };
    CHECK(with(step * 1.01) == 0);
    CHECK(with(step * 0.99) >= 1);
  }
  CHECK(Metric(pulls(environments[0], ", max_divergence: 1e-9, max_pulls: 1"), "pulls") == 1);
}

}  // namespace
}  // namespace waggle
