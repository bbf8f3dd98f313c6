#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/algorithm_checks.h"

namespace waggle::testing {
namespace {

using torch::Tensor;

constexpr int64_t kRows = 4;
constexpr int64_t kLength = 5;
constexpr int64_t kStates = 3;
constexpr int64_t kChoices = 2;
constexpr double kDiscounting = 0.9;

std::unique_ptr<AlgorithmTrainee> Trainee(const std::string& options, const std::string& torso = "[]",
                                          const std::string& sampler = "prioritized") {
  return TraineeOn("{q: {torso: " + torso + ", heads: {q: {type: q}}}}\nreplay: {sampler: {kind: " + sampler + "}}",
                   "name: sarsa, sequence: 4, discount: 0.9" + options,
                   EnvironmentOf(kStates, Discrete("action", kChoices)), torch::kFloat64, 1);
}

// Four sequences of random states: one goes on after its end, one terminates, one is truncated, and one is a whole
// short episode. Elements that do not count are NaN, or a choice.
TensorBatch RandomSequences() {
  torch::manual_seed(5);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  TensorBatch batch;
  batch.size = kRows;
  batch.table_items = 1000;
  batch.fields[kItemLength] = torch::tensor({5, 4, 5, 3}, torch::kInt64);
  batch.fields[kItemProbability] = torch::tensor({1e-3, 2e-3, 4e-3, 3e-3}, torch::kFloat64);
  batch.fields[kStepType] =
      torch::tensor({{1, 1, 1, 1, 1}, {1, 1, 1, 2, 0}, {0, 1, 1, 1, 2}, {0, 1, 2, 0, 1}}, torch::kInt32);
  batch.fields[kDiscount] = torch::tensor(
      {{1.0, 1.0, 1.0, 1.0, nan}, {1.0, 1.0, 0.0, nan, nan}, {1.0, 1.0, 1.0, 1.0, nan}, {1.0, 0.0, nan, nan, nan}},
      torch::kFloat64);
  batch.fields[kObservation] = torch::eye(kStates, torch::kFloat64).index({torch::randint(kStates, {kRows, kLength})});
  batch.fields[kReward] = torch::randn({kRows, kLength}, torch::kFloat64).masked_fill(batch.at(kDiscount).isnan(), nan);
  batch.fields[kAction] = torch::randint(kChoices, {kRows, kLength}, torch::kInt64);
  return batch;
}

// The values of all choices in all states, [states, choices].
Tensor Table(const Network& network) {
  const torch::NoGradGuard no_grad;
  return network.Forward({torch::eye(kStates, torch::kFloat64)})[0].values;
}

// The TD errors of a row by the forward view: a mean of n-step returns for n up to the row's end.
std::vector<double> Errors(const Tensor& online, const Tensor& target, const TensorBatch& batch, int64_t row,
                           double lambda) {
  const auto number = [&](const char* field, int64_t t) { return batch.at(field)[row][t].item<double>(); };
  const int64_t steps = batch.at(kItemLength)[row].item<int64_t>() - 1;
  std::vector<double> errors;
  for (int64_t t = 0; t < steps; ++t) {
    double mean = 0;
    double sum = 0;
    double factor = 1;
    double share = 1;  // The weight of the returns of n steps and more.
    for (int64_t end = t + 1; end <= steps; ++end) {
      sum += factor * number(kReward, end - 1);
      factor *= kDiscounting * number(kDiscount, end - 1);
      const int64_t state = batch.at(kObservation)[row][end].argmax().item<int64_t>();
      const Tensor value = end < steps ? target[state][batch.at(kAction)[row][end]] : target[state].max();
      mean += share * (end < steps ? 1 - lambda : 1) * (sum + factor * value.item<double>());
      share *= lambda;
    }
    const int64_t state = batch.at(kObservation)[row][t].argmax().item<int64_t>();
    errors.push_back(online[state][batch.at(kAction)[row][t]].item<double>() - mean);
  }
  return errors;
}

TEST_CASE("loss and priorities of sarsa are those of lambda-returns with the next actions that were taken", "[unit]") {
  for (const double lambda : {0.0, 0.7, 1.0}) {
    INFO(lambda);
    const auto trainee = Trainee(", importance_exponent: 0.5, lambda: " + std::to_string(lambda));
    const TensorBatch batch = RandomSequences();
    LocalStepper stepper;
    for (int i = 0; i < 3; ++i) {
      Updated(trainee.get(), batch, &stepper);  // Makes the target differ from the network.
    }
    const Net& net = trainee->model().net("q");
    double loss = 0;
    int64_t count = 0;
    std::vector<double> priorities;
    for (int64_t row = 0; row < kRows; ++row) {
      double sum = 0;
      const std::vector<double> errors = Errors(Table(net.network()), Table(*net.target_network()), batch, row, lambda);
      for (const double error : errors) {
        const double huber = std::abs(error) < 1 ? 0.5 * error * error : std::abs(error) - 0.5;
        loss += std::sqrt(1e-3 / batch.at(kItemProbability)[row].item<double>()) * huber;
        sum += std::abs(error);
        ++count;
      }
      priorities.push_back(sum / static_cast<double>(errors.size()));
    }
    const UpdateResult result = Updated(trainee.get(), batch, &stepper);
    CHECK(Metric(result, "q_loss") == Approx(loss / static_cast<double>(count)));
    CHECK(torch::allclose(result.priorities[0], torch::tensor(priorities, torch::kFloat64)));
  }
}

TEST_CASE("gradients of sarsa equal finite differences, and its target follows", "[unit]") {
  for (const char* const options : {"", ", lambda: 0.5"}) {
    const auto trainee = Trainee(options, "[{type: mlp, units: [4], activation: tanh}]");
    CheckGradients(trainee.get(), {trainee->model().net("q").group()}, RandomSequences());
  }
  CheckTargetFollows(Trainee(", target_update_rate: 0.3").get(), "q", RandomSequences(), 0.3);
}

// A long walk of random choices: choice 1 earns 0.1 and leads to the next state, choice 0 stays, for nothing.
TEST_CASE("sarsa learns the values of the policy that acted, not those of the best one", "[unit]") {
  constexpr int64_t kSteps = 60;
  torch::manual_seed(3);
  const Tensor action = torch::randint(kChoices, {1, kSteps + 1}, torch::kInt64);
  const Tensor state = (action.cumsum(1) - action).remainder(kStates);
  TensorBatch batch;
  batch.size = 1;
  batch.fields[kObservation] = torch::eye(kStates, torch::kFloat64).index({state});
  batch.fields[kAction] = action;
  batch.fields[kReward] = 0.1 * action.to(torch::kFloat64);
  batch.fields[kDiscount] = torch::ones({1, kSteps + 1}, torch::kFloat64);
  batch.fields[kStepType] = torch::ones({1, kSteps + 1}, torch::kInt32);
  batch.fields[kItemLength] = torch::full({1}, kSteps + 1, torch::kInt64);
  // The same by a table.
  Tensor exact = torch::zeros({kStates, kChoices}, torch::kFloat64);
  for (int sweep = 0; sweep < 300; ++sweep) {
    Tensor sums = torch::zeros_like(exact);
    Tensor counts = torch::zeros_like(exact);
    for (int64_t t = 0; t < kSteps; ++t) {
      const Tensor next = exact[state[0][t + 1].item<int64_t>()];
      const int64_t place = state[0][t].item<int64_t>() * kChoices + action[0][t].item<int64_t>();
      sums.view(-1)[place] +=
          batch.at(kReward)[0][t] + kDiscounting * (t + 1 < kSteps ? next[action[0][t + 1]] : next.max());
      counts.view(-1)[place] += 1;
    }
    exact = sums / counts;
  }
  CHECK(exact.max().item<double>() < 0.7);  // The best policy's are worth 0.1 / (1 - 0.9).
  const auto trainee =
      Trainee(", lambda: 0, target_update_rate: 0.05, optimizer: {learning_rate: 0.005}", "[]", "uniform");
  LocalStepper stepper;
  for (int step = 0; step < 3000; ++step) {
    Updated(trainee.get(), batch, &stepper);
  }
  CHECK((Table(trainee->model().net("q").network()) - exact).abs().max().item<double>() < 0.01);
}

}  // namespace
}  // namespace waggle::testing
