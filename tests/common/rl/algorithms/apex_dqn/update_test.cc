#include <cmath>
#include <limits>

#include "common/rl/algorithms/apex_dqn/apex_dqn.h"
#include "common/rl/training/steppers.h"
#include "tests/support/algorithm_checks.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"

namespace waggle {
namespace {

using testing::DqnBatch;
using testing::DqnEnvironment;
using testing::DqnExperiment;
using testing::DqnTrainee;

// An algorithm on a linear network without torso: Q(s, .) = W s + b.
struct Fixture {
  explicit Fixture(const ApexDqnOptions& options, const EnvironmentSpec& environment = DqnEnvironment(2, 2))
      : experiment(DqnExperiment(options)) {
    algorithm = testing::ValueOf(DqnTrainee(experiment, environment));
  }

  Network& online() { return algorithm->model().net("q").network(); }
  // The online network itself in mode vanilla.
  Network& target() {
    Network* const target = algorithm->model().net("q").target_network();
    return target != nullptr ? *target : online();
  }
  absl::StatusOr<UpdateResult> Update(const TensorBatch& batch, Stepper* stepper, int64_t learner_steps = 0) {
    return algorithm->Update(batch, {0, learner_steps, 0}, stepper);
  }

  Experiment experiment;
  std::unique_ptr<AlgorithmTrainee> algorithm;
};

ApexDqnOptions Sgd(const std::string& mode) {
  ApexDqnOptions options;
  options.mode = mode;
  options.discount = 0.5;
  options.loss = "mse";
  options.optimizer.type = "sgd";
  options.optimizer.learning_rate = 0.1;
  return options;
}

// Sets Q(e1, .) and Q(e2, .) for the two one-hot observations.
void SetQ(Network* network, const torch::Tensor& q) {
  network->parameters().value_views()[0].copy_(q.t());
  network->parameters().value_views()[1].zero_();
}

torch::Tensor Q(const std::vector<std::vector<float>>& rows) {
  torch::Tensor q = torch::empty({2, 2});
  for (int64_t i = 0; i < 4; ++i) {
    q[i / 2][i % 2] = rows[static_cast<size_t>(i / 2)][static_cast<size_t>(i % 2)];
  }
  return q;
}

// Two windows from e1 to e2 with action 1: rewards 1 and 2, the second one ended for good.
TensorBatch TwoWindows() {
  const torch::Tensor first = torch::tensor({{1.0F, 0.0F}, {1.0F, 0.0F}});
  const torch::Tensor last = torch::tensor({{0.0F, 1.0F}, {0.0F, 1.0F}});
  return DqnBatch(first, {1, 1}, torch::tensor({{1.0F, 2.0F, 0.0F}, {1.0F, 2.0F, 0.0F}}),
                  torch::tensor({{1.0F, 1.0F, 0.0F}, {1.0F, 0.0F, 0.0F}}), last, {3, 3});
}

TEST_CASE("priorities are the TD errors of each mode's targets, computed by hand", "[unit]") {
  // Both windows: 1 + 0.5 * 2 = 2, and a quarter of the last value for the one that was not ended. Q(e1, 1) = 3.
  const std::vector<std::pair<std::string, double>> cases = {
      {"vanilla", 2 + 0.25 * 6},        // The online network's maximum.
      {"fixed_target", 2 + 0.25 * 40},  // The target network's maximum.
      {"double", 2 + 0.25 * 8}};        // The target network's value where the online network's is largest.
  for (const auto& [mode, target] : cases) {
    INFO(mode);
    Fixture fixture(Sgd(mode));
    SetQ(&fixture.online(), Q({{0, 3}, {6, 5}}));
    if (mode != "vanilla") {
      SetQ(&fixture.target(), Q({{0, 0}, {8, 40}}));
    }
    LocalStepper stepper;
    const UpdateResult result = testing::ValueOf(fixture.Update(TwoWindows(), &stepper));
    CHECK(result.priorities[0][0].item<double>() == Approx(std::abs(3 - target)));
    CHECK(result.priorities[0][1].item<double>() == Approx(std::abs(3 - 2.0)));
    REQUIRE(result.metrics[0].first == "q_loss");
    const double loss = ((3 - target) * (3 - target) + 1) / 2;
    CHECK(result.metrics[0].second.item<double>() == Approx(loss));
  }
}

TEST_CASE("targets leave out illegal choices, and take all if no choice is legal", "[unit]") {
  EnvironmentSpec environment = DqnEnvironment(2, 2);
  environment.observations.push_back(MultiBinary("action_mask", {2}));
  TensorBatch batch = TwoWindows();
  batch.fields[kDiscount].fill_(1);
  batch.fields["action_mask"] = torch::ones({2, 2}, torch::kBool);
  batch.fields["next_action_mask"] = torch::tensor({0, 1, 0, 0}).to(torch::kBool).view({2, 2});
  // The second choice is the worse one of either network in the second state; in the first row no other is legal.
  const std::vector<std::pair<std::string, std::pair<double, double>>> cases = {
      {"vanilla", {5, 6}}, {"fixed_target", {40, 80}}, {"double", {40, 80}}};
  for (const auto& [mode, values] : cases) {
    INFO(mode);
    Fixture fixture(Sgd(mode), environment);
    SetQ(&fixture.online(), Q({{0, 3}, {6, 5}}));
    if (mode != "vanilla") {
      SetQ(&fixture.target(), Q({{0, 0}, {80, 40}}));
    }
    LocalStepper stepper;
    const UpdateResult result = testing::ValueOf(fixture.Update(batch, &stepper));
    CHECK(result.priorities[0][0].item<double>() == Approx(std::abs(3 - (2 + 0.25 * values.first))));
    CHECK(result.priorities[0][1].item<double>() == Approx(std::abs(3 - (2 + 0.25 * values.second))));
  }
}

TEST_CASE("the target follows by its rate", "[unit]") {
  ApexDqnOptions options = Sgd("double");
  options.target_update_rate = 0.5;
  Fixture fixture(options);
  SetQ(&fixture.online(), Q({{0, 3}, {0, 0}}));
  SetQ(&fixture.target(), Q({{0, 0}, {0, 0}}));
  testing::CheckTargetFollows(fixture.algorithm.get(), "q", TwoWindows(), 0.5);
}

TEST_CASE("the gradient equals finite differences of the loss, through every kind of head and mode", "[unit]") {
  for (const char* mode : {"vanilla", "fixed_target", "double"}) {
    for (const char* head : {"q", "dueling"}) {
      for (const char* loss : {"huber", "mse"}) {
        INFO(mode << ", " << head << ", " << loss);
        ApexDqnOptions options = Sgd(mode);
        options.loss = loss;
        Experiment experiment = DqnExperiment(options);
        NetworkSpec& network = experiment.networks["q"];
        network.torso.resize(1);
        network.torso[0].units = {4};
        network.torso[0].activation = "tanh";
        network.heads["q"].type = head;
        const auto algorithm =
            testing::ValueOf(DqnTrainee(experiment, DqnEnvironment(3, 2), torch::kCPU, torch::kFloat64));
        torch::manual_seed(2);
        const auto random = [](std::vector<int64_t> shape) { return torch::randn(shape, torch::kFloat64); };
        TensorBatch batch = DqnBatch(random({6, 3}), {0, 1, 1, 0, 1, 0}, random({6, 3}) * 2,
                                     torch::ones({6, 3}, torch::kFloat64), random({6, 3}), {3, 3, 2, 3, 2, 3});
        batch.fields[kItemProbability] = torch::rand({6}, torch::kFloat64) + 0.1;
        // In vanilla mode the target moves with the parameters; it is held still by ending every episode.
        if (std::string(mode) == "vanilla") {
          batch.fields[kDiscount].zero_();
        }
        testing::CheckGradients(algorithm.get(), {algorithm->model().net("q").group()}, batch);
      }
    }
  }
}

TEST_CASE("importance weights move with the learner's steps", "[unit]") {
  ApexDqnOptions options = Sgd("double");
  options.importance_exponent = Schedule::Linear(0, 1, Schedule::Clock::kLearnerSteps, 1);
  Fixture fixture(options);
  SetQ(&fixture.online(), Q({{0, 3}, {0, 0}}));
  SetQ(&fixture.target(), Q({{0, 0}, {0, 0}}));
  TensorBatch batch = TwoWindows();
  batch.fields[kItemProbability] = torch::tensor({0.1, 0.4}, torch::kFloat64);
  CaptureStepper stepper;
  // Both errors are 1: the loss is the mean of the weights.
  CHECK(testing::ValueOf(fixture.Update(batch, &stepper)).metrics[0].second.item<double>() == Approx(1));
  CHECK(testing::ValueOf(fixture.Update(batch, &stepper, 1)).metrics[0].second.item<double>() ==
        Approx((1 + 0.25) / 2));
}

TEST_CASE("a loss or a gradient that is not finite is refused and changes nothing", "[unit]") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::function<void(TensorBatch*)>> breakages = {
      [&](TensorBatch* batch) { batch->fields[kReward][0][0] = infinity; },
      [&](TensorBatch* batch) { batch->fields[kReward][1][1] = nan; },
      [&](TensorBatch* batch) { batch->fields[kObservation][0][1] = nan; },
      [&](TensorBatch* batch) { batch->fields["next_observation"][0][1] = nan; },
      [&](TensorBatch* batch) { batch->fields[kAction][0] = 2; },
      [&](TensorBatch* batch) { batch->fields[kAction][0] = -1; }};
  for (const auto& breakage : breakages) {
    Fixture fixture(Sgd("double"));
    const torch::Tensor online = fixture.online().parameters().values().clone();
    const torch::Tensor target = fixture.target().parameters().values().clone();
    TensorBatch batch = TwoWindows();
    breakage(&batch);
    LocalStepper stepper;
    REQUIRE_CODE(fixture.Update(batch, &stepper), absl::StatusCode::kInvalidArgument);
    CHECK(torch::equal(fixture.online().parameters().values(), online));
    CHECK(torch::equal(fixture.target().parameters().values(), target));
    // The next good batch is learned from.
    REQUIRE_OK(fixture.Update(TwoWindows(), &stepper));
    CHECK_FALSE(torch::equal(fixture.online().parameters().values(), online));
  }
}

// Three states in a row, one-hot: action 1 goes right, 0 stays. Right of the last one the episode ends with a reward of
// 1; staying in the first one gives 0.1.
TEST_CASE("every mode learns the exact Q-values of a small decision process", "[unit]") {
  const double gamma = 0.9;
  torch::Tensor exact = torch::zeros({3, 2}, torch::kFloat64);
  for (int sweep = 0; sweep < 1000; ++sweep) {
    for (int64_t state = 0; state < 3; ++state) {
      exact[state][0] = (state == 0 ? 0.1 : 0.0) + gamma * exact[state].max();
      exact[state][1] = state == 2 ? torch::ones({}, torch::kFloat64) : gamma * exact[state + 1].max();
    }
  }
  const torch::Tensor states = torch::eye(3);
  const torch::Tensor first = states.index({torch::tensor({0, 0, 1, 1, 2, 2})});
  const torch::Tensor last = states.index({torch::tensor({0, 1, 1, 2, 2, 2})});
  const torch::Tensor reward = torch::tensor({{0.1F, 0.F}, {0.F, 0.F}, {0.F, 0.F}, {0.F, 0.F}, {0.F, 0.F}, {1.F, 0.F}});
  const torch::Tensor discount =
      torch::tensor({{1.F, 0.F}, {1.F, 0.F}, {1.F, 0.F}, {1.F, 0.F}, {1.F, 0.F}, {0.F, 0.F}});
  const TensorBatch batch = DqnBatch(first, {0, 1, 0, 1, 0, 1}, reward, discount, last, {2, 2, 2, 2, 2, 2});
  for (const char* mode : {"vanilla", "fixed_target", "double"}) {
    INFO(mode);
    ApexDqnOptions options;
    options.mode = mode;
    options.n_step = 1;
    options.discount = gamma;
    if (options.mode != "vanilla") {
      options.target_update_rate = 0.05;
    }
    options.optimizer.learning_rate = 0.005;
    Experiment experiment = DqnExperiment(options);
    NetworkSpec& network = experiment.networks["q"];
    network.torso.resize(1);
    network.torso[0].units = {32};
    network.torso[0].activation = "tanh";
    network.heads["q"].type = "dueling";
    const auto algorithm = testing::ValueOf(DqnTrainee(experiment, DqnEnvironment(3, 2)));
    LocalStepper stepper;
    for (int step = 0; step < 4000; ++step) {
      REQUIRE_OK(algorithm->Update(batch, Progress(), &stepper));
    }
    const torch::Tensor learned = algorithm->model().net("q")({states}).q().detach().to(torch::kFloat64);
    CHECK((learned - exact).abs().max().item<double>() < 0.02);
  }
}

}  // namespace
}  // namespace waggle
