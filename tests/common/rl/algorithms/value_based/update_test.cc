// The updates of all algorithms that learn values of choices from transitions.

#include <cmath>
#include <limits>

#include "tests/support/algorithm_checks.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"

namespace waggle {
namespace {

using torch::Tensor;

constexpr char kNetwork[] = "{q: {torso: [{type: mlp, units: [8], activation: tanh}], heads: {q: {type: dueling}}}}";

std::unique_ptr<AlgorithmTrainee> ValuesOf(const std::string& algorithm, int64_t features = 3, int64_t choices = 2,
                                           torch::ScalarType type = torch::kFloat64,
                                           const std::string& network = kNetwork) {
  return testing::TraineeOn(network, algorithm, testing::EnvironmentOf(features, Discrete("action", choices)), type, 1);
}

const std::vector<std::string>& Algorithms() {
  static const auto* const algorithms = new std::vector<std::string>{
      "name: rainbow, atoms: 11, low: -3, high: 5",
      "name: rainbow, atoms: 11, low: -3, high: 5, double_selection: false",
      "name: rainbow, learns: mean",
      "name: qr_dqn, quantiles: 5",
      "name: qr_dqn, quantiles: 5, double_selection: true, huber_threshold: 0.3",
      "name: iqn, samples: 3, target_samples: 4, acting_samples: 5, embedding: 6",
      "name: m_dqn, temperature: 0.5",
  };
  return *algorithms;
}

TEST_CASE("gradients of losses of values equal finite differences", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 2));
  for (const std::string& algorithm : Algorithms()) {
    INFO(algorithm);
    const auto trainee = ValuesOf(algorithm);
    testing::CheckGradients(trainee.get(), {trainee->model().net("q").group()},
                            testing::RandomTransitions(environment, 6, 3));
  }
}

TEST_CASE("gradients of noisy layers equal finite differences with the noise of the update", "[unit]") {
  const auto trainee = ValuesOf(
      "name: rainbow, atoms: 5, low: -3, high: 5", 3, 2, torch::kFloat64,
      "{q: {torso: [{type: mlp, units: [4], activation: tanh, noise: 0.5}], heads: {q: {type: dueling, noise: 0.5}}}}");
  testing::CheckGradients(trainee.get(), {trainee->model().net("q").group()},
                          testing::RandomTransitions(testing::EnvironmentOf(3, Discrete("action", 2)), 4, 3));
}

TEST_CASE("targets of values follow by their rate, or are copied", "[unit]") {
  const TensorBatch batch = testing::RandomTransitions(testing::EnvironmentOf(3, Discrete("action", 2)), 6, 3);
  for (const std::string& algorithm : Algorithms()) {
    INFO(algorithm);
    testing::CheckTargetFollows(ValuesOf(algorithm + ", target_update_rate: 0.5").get(), "q", batch, 0.5);
    const auto copies = ValuesOf(algorithm + ", update_steps: 2");
    const Net& net = copies->model().net("q");
    const Tensor before = net.target_network()->parameters().values().clone();
    LocalStepper stepper;
    testing::Updated(copies.get(), batch, &stepper);
    CHECK(torch::equal(net.target_network()->parameters().values(), before));
    testing::Updated(copies.get(), batch, &stepper);
    CHECK(torch::equal(net.target_network()->parameters().values(), net.group()->values()));
  }
}

TEST_CASE("a batch of values that are not finite, or of an unknown choice, changes nothing", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 2));
  for (const std::string& algorithm : Algorithms()) {
    for (const int64_t choice : {-1, 2}) {
      INFO(algorithm << " " << choice);
      const auto trainee = ValuesOf(algorithm);
      const Tensor before = trainee->model().net("q").group()->values().clone();
      TensorBatch batch = testing::RandomTransitions(environment, 6, 3);
      batch.fields[kAction][1] = choice;
      LocalStepper stepper;
      REQUIRE_CODE(trainee->Update(batch, Progress(), &stepper), absl::StatusCode::kInvalidArgument);
      CHECK(torch::equal(trainee->model().net("q").group()->values(), before));
      batch = testing::RandomTransitions(environment, 6, 3);
      batch.fields[kReward].fill_(std::numeric_limits<double>::quiet_NaN());
      REQUIRE_CODE(trainee->Update(batch, Progress(), &stepper), absl::StatusCode::kInvalidArgument);
      CHECK(torch::equal(trainee->model().net("q").group()->values(), before));
    }
  }
}

// Gives every network of a linear head without torso the same outputs for each one-hot observation, [states, outputs].
void SetOutputs(Network* network, const Tensor& outputs) {
  const torch::NoGradGuard no_grad;
  network->parameters().value_views()[0].copy_(outputs.t());
  network->parameters().value_views()[1].zero_();
}

constexpr char kLinear[] = "{q: {torso: [], heads: {q: {type: KIND, units: [], noise: 0}}}}";

std::string Linear(const std::string& kind) {
  std::string text = kLinear;
  return text.replace(text.find("KIND"), 4, kind);
}

// One window of one step from state 0 to state 1 with choice 1, a reward of 1 and a discount.
TensorBatch OneStep(double discount) {
  const Tensor states = torch::eye(2, torch::kFloat64);
  TensorBatch batch = testing::DqnBatch(states.narrow(0, 0, 1), {1}, torch::tensor({{1.0, 0.0}}, torch::kFloat64),
                                        torch::tensor({{discount, 0.0}}, torch::kFloat64), states.narrow(0, 1, 1), {2});
  return batch;
}

TEST_CASE("the priority of rainbow is the divergence of the projected next distribution from its own", "[unit]") {
  const auto trainee = ValuesOf("name: rainbow, atoms: 3, low: 0, high: 2, discount: 0.5", 2, 2, torch::kFloat64,
                                Linear("categorical_q"));
  // Logarithms of probabilities of the atoms 0, 1 and 2, for both choices.
  const Tensor online =
      torch::tensor({{1.0, 1.0, 1.0, 0.2, 0.3, 0.5}, {0.1, 0.1, 0.8, 0.8, 0.1, 0.1}}, torch::kFloat64);
  const Tensor target =
      torch::tensor({{1.0, 1.0, 1.0, 1.0, 1.0, 1.0}, {0.5, 0.3, 0.2, 0.1, 0.1, 0.8}}, torch::kFloat64);
  SetOutputs(&trainee->model().net("q").network(), online.log());
  SetOutputs(trainee->model().net("q").target_network(), target.log());
  LocalStepper stepper;
  // The online network chooses 0, where the target has .5, .3 and .2. They move to 1, 1.5 and 2: .5, .15 + .15, .2 at
  // the atoms 1 and 2.
  const UpdateResult result = testing::Updated(trainee.get(), OneStep(1), &stepper);
  CHECK(result.priorities[0][0].item<double>() == Approx(0.65 * std::log(0.65 / 0.3) + 0.35 * std::log(0.35 / 0.5)));
}

TEST_CASE("the priority of qr_dqn is the error of the mean", "[unit]") {
  const auto trainee =
      ValuesOf("name: qr_dqn, quantiles: 2, discount: 0.5", 2, 2, torch::kFloat64, Linear("quantile_q"));
  SetOutputs(&trainee->model().net("q").network(),
             torch::tensor({{0.0, 0.0, 1.0, 2.0}, {9.0, 9.0, 0.0, 0.0}}, torch::kFloat64));
  SetOutputs(trainee->model().net("q").target_network(),
             torch::tensor({{0.0, 0.0, 0.0, 0.0}, {2.0, 4.0, 6.0, 8.0}}, torch::kFloat64));
  LocalStepper stepper;
  // The target network chooses 1, worth 1 + 0.5 * 7; the taken choice is worth 1.5.
  const UpdateResult result = testing::Updated(trainee.get(), OneStep(1), &stepper);
  CHECK(result.priorities[0][0].item<double>() == Approx(4.5 - 1.5));
}

TEST_CASE("the target of m_dqn is paid for the logarithm of its policy", "[unit]") {
  for (const double discount : {1.0, 0.0}) {
    const auto trainee =
        ValuesOf("name: m_dqn, temperature: 0.5, munchausen_weight: 0.9, lowest_logarithm: -1, discount: 0.9", 2, 2,
                 torch::kFloat64, Linear("q"));
    const double own[] = {0.3, 0.1};
    const double next[] = {1, 2};
    SetOutputs(&trainee->model().net("q").network(), torch::zeros({2, 2}, torch::kFloat64));
    SetOutputs(trainee->model().net("q").target_network(),
               torch::tensor({{own[0], own[1]}, {next[0], next[1]}}, torch::kFloat64));
    const auto scaled = [](const double* q, int choice) {
      return q[choice] - 0.5 * std::log(std::exp(q[0] / 0.5) + std::exp(q[1] / 0.5));
    };
    double value = 0;
    for (int choice = 0; choice < 2; ++choice) {
      value += std::exp(scaled(next, choice) / 0.5) * (next[choice] - scaled(next, choice));
    }
    const double target = 1 + 0.9 * std::max(-1.0, scaled(own, 1)) + 0.9 * discount * value;
    LocalStepper stepper;
    CHECK(testing::Updated(trainee.get(), OneStep(discount), &stepper).priorities[0][0].item<double>() ==
          Approx(target));
  }
}

// Three states in a row, one-hot: choice 1 goes right, 0 stays. Right of the last one the episode ends with a reward of
// 1; staying in the first one gives 0.1.
TEST_CASE("algorithms of values learn those of a small decision process", "[unit]") {
  const double gamma = 0.9;
  Tensor exact = torch::zeros({3, 2}, torch::kFloat64);
  for (int sweep = 0; sweep < 1000; ++sweep) {
    for (int64_t state = 0; state < 3; ++state) {
      exact[state][0] = (state == 0 ? 0.1 : 0.0) + gamma * exact[state].max();
      exact[state][1] = state == 2 ? torch::ones({}, torch::kFloat64) : gamma * exact[state + 1].max();
    }
  }
  const Tensor states = torch::eye(3);
  const Tensor first = states.index({torch::tensor({0, 0, 1, 1, 2, 2})});
  const Tensor last = states.index({torch::tensor({0, 1, 1, 2, 2, 2})});
  const Tensor reward = torch::tensor({{0.1F, 0.F}, {0.F, 0.F}, {0.F, 0.F}, {0.F, 0.F}, {0.F, 0.F}, {1.F, 0.F}});
  const Tensor discount = torch::tensor({{1.F, 0.F}, {1.F, 0.F}, {1.F, 0.F}, {1.F, 0.F}, {1.F, 0.F}, {0.F, 0.F}});
  const TensorBatch batch = testing::DqnBatch(first, {0, 1, 0, 1, 0, 1}, reward, discount, last, {2, 2, 2, 2, 2, 2});
  for (const char* const algorithm :
       {"name: rainbow, atoms: 41, low: 0, high: 2, n_step: 1", "name: rainbow, learns: mean, n_step: 1",
        "name: qr_dqn, quantiles: 10, n_step: 1", "name: m_dqn, temperature: 0.001, munchausen_weight: 0"}) {
    INFO(algorithm);
    const auto trainee = ValuesOf(std::string(algorithm) +
                                      ", discount: 0.9, target_update_rate: 0.05, importance_exponent: 0, optimizer: "
                                      "{learning_rate: 0.005}",
                                  3, 2, torch::kFloat32, "{q: {torso: [{type: mlp, units: [32], activation: tanh}]}}");
    LocalStepper stepper;
    for (int step = 0; step < 3000; ++step) {
      testing::Updated(trainee.get(), batch, &stepper);
    }
    const torch::NoGradGuard no_grad;
    const Tensor q = trainee->model().net("q")({states}).q().to(torch::kFloat64);
    CHECK((q - exact).abs().max().item<double>() < 0.05);
  }
}

}  // namespace
}  // namespace waggle
