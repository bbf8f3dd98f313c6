#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using testing::ActorCriticOf;
using testing::Metric;
using testing::RandomUnrolls;
using testing::ReferenceStep;
using testing::Updated;
using torch::Tensor;

constexpr char kTrpo[] = "name: trpo, unroll: 5, discount: 0.9, lambda: 0.7, normalize_returns: false";

std::vector<ReferenceStep> StepsOf(AlgorithmTrainee* trainee, const EnvironmentSpec& environment,
                                   const TensorBatch& batch) {
  std::vector<ReferenceStep> steps =
      testing::ReferenceSteps(trainee->model().net("actor_critic").network(), environment, batch, 0.9, 0.7);
  testing::Standardize(&steps);
  return steps;
}

// The mean advantage of the new policy's actions over the old one's, weighed by the ratio of probabilities.
double GainOf(const std::vector<ReferenceStep>& before, const std::vector<ReferenceStep>& after) {
  double gain = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    gain += before[i].advantage * (std::exp(after[i].log_prob - before[i].log_prob) - 1);
  }
  return gain / static_cast<double>(before.size());
}

// Takes `factor` of the way from the present values to those that are assigned.
class FactorStepper : public LocalStepper {
 public:
  explicit FactorStepper(double factor) : factor_(factor) {}
  absl::StatusOr<bool> Assign(ParameterGroup* group, const Tensor& values) override {
    if (assigned++ == 0) {
      start_ = group->values().clone();
    }
    return LocalStepper::Assign(group, start_ + factor_ * (values - start_));
  }
  absl::StatusOr<bool> Step(ParameterGroup* /*group*/, const Progress& /*progress*/) override { return false; }

  int assigned = 0;

 private:
  const double factor_;
  Tensor start_;
};

TEST_CASE("TRPO's step gains what it reports, and has the divergence that it may have", "[unit]") {
  for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
    const TensorBatch batch = RandomUnrolls(environment, 3);
    std::vector<Tensor> values;
    for (const std::string fisher : {"fim", "direct"}) {
      const auto trainee = ActorCriticOf(
          std::string(kTrpo) + ", damping: 1e-6, max_divergence: 1e-5, conjugate_residual: 0, fisher: " + fisher,
          environment);
      const std::vector<ReferenceStep> before = StepsOf(trainee.get(), environment, batch);
      FactorStepper stepper(1);
      const UpdateResult result = Updated(trainee.get(), batch, &stepper);
      const double gain = GainOf(before, StepsOf(trainee.get(), environment, batch));
      CHECK(gain > 0);
      CHECK(Metric(result, "policy_gain") == Approx(gain));
      // A short step has nearly the largest divergence at once, or with the next try.
      CHECK(Metric(result, "step_share") >= 0.5);
      CHECK(Metric(result, "divergence") <= 1e-5);
      CHECK(Metric(result, "divergence") > 0.2e-5);
      values.push_back(trainee->model().net("actor_critic").group()->values().clone());
    }
    CHECK(torch::allclose(values[0], values[1], 1e-5, 1e-7));
  }
}

TEST_CASE("TRPO's line search halves a step of too large a divergence, and refuses one that loses", "[unit]") {
  for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
    const TensorBatch batch = RandomUnrolls(environment, 3);
    const auto run = [&](double factor, const std::string& backtracks) {
      const auto trainee =
          ActorCriticOf(std::string(kTrpo) +
                            ", damping: 1e-6, max_divergence: 1e-5, conjugate_residual: 0, backtracks: " + backtracks,
                        environment);
      const Tensor start = trainee->model().net("actor_critic").group()->values().clone();
      FactorStepper stepper(factor);
      const UpdateResult result = Updated(trainee.get(), batch, &stepper);
      const bool moved = !torch::equal(trainee->model().net("actor_critic").group()->values(), start);
      CHECK(moved == (Metric(result, "step_share") > 0));
      CHECK(stepper.assigned == (moved ? 1 - std::log2(Metric(result, "step_share")) : std::stoi(backtracks) + 1));
      return Metric(result, "step_share");
    };
    // Divergences of 9, 9 / 4 and 9 / 16 times the limit.
    CHECK(run(3, "10") == 0.25);
    CHECK(run(3, "2") == 0);
    CHECK(run(-0.5, "10") == 0);
  }
}

TEST_CASE("TRPO's value descends its squared error after the policy's step, as often as asked for", "[unit]") {
  const EnvironmentSpec environment = testing::AllKindsOfActions()[0];
  const auto trainee = ActorCriticOf(std::string(kTrpo) + ", value_steps: 3", environment);
  const TensorBatch batch = RandomUnrolls(environment, 4);
  double loss = 0;
  const std::vector<ReferenceStep> steps =
      testing::ReferenceSteps(trainee->model().net("actor_critic").network(), environment, batch, 0.9, 0.7);
  for (const ReferenceStep& step : steps) {
    loss += std::pow(step.value - step.value_target, 2) / static_cast<double>(steps.size());
  }
  LocalStepper stepper;
  std::vector<double> losses;
  for (const auto& [name, value] : Updated(trainee.get(), batch, &stepper).metrics) {
    if (name == "actor_critic_loss") {
      losses.push_back(value.item<double>());
    }
  }
  REQUIRE(losses.size() == 3);
  CHECK(losses[0] == Approx(loss));
  CHECK(losses[2] < losses[0]);
}

TEST_CASE("TRPO refuses a value that shares layers with the policy, and weight decay", "[unit]") {
  const std::pair<const char*, const char*> cases[] = {
      {"algorithm: {name: trpo}\nnetworks: {actor_critic: {heads: {value: {shares: all}}}}\n",
       "networks.actor_critic.heads.value.shares: got all"},
      {"algorithm: {name: trpo, optimizer: {type: adamw}}\n", "algorithm.optimizer.weight_decay: got 0.01"}};
  for (const auto& [yaml, problem] : cases) {
    const Experiment experiment = testing::ValueOf(ParseExperiment(std::string(yaml) + "stop: {max_seconds: 1}\n",
                                                                   "test.yaml", {}, BuiltinAlgorithmDefinitions()));
    const absl::Status status =
        CheckAgainstEnvironment(experiment, testing::AllKindsOfActions()[0], BuiltinAlgorithmDefinitions());
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains(problem));
  }
}

}  // namespace
}  // namespace waggle
