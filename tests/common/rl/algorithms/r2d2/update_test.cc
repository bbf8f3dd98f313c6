#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/rl/kit/returns/value_rescaling.h"
#include "tests/support/algorithm_checks.h"

namespace waggle::testing {
namespace {

using torch::Tensor;

constexpr int64_t kRows = 4;
constexpr int64_t kLength = 7;  // Rows of the longest.
constexpr int64_t kFeatures = 3;
constexpr int64_t kUnits = 2;
constexpr int64_t kBurnIn = 2;
constexpr int64_t kNStep = 3;
constexpr double kDiscounting = 0.9;
constexpr double kEpsilon = 0.01;
constexpr double kEta = 0.7;

EnvironmentSpec Environment(bool has_mask = false) {
  EnvironmentSpec environment = EnvironmentOf(kFeatures, Discrete("action", 3));
  if (has_mask) {
    environment.observations.push_back(MultiBinary("action_mask", {3}));
  }
  return environment;
}

// `core` as in YAML.
std::unique_ptr<AlgorithmTrainee> Trainee(const std::string& core, int64_t burn_in = kBurnIn, bool has_mask = false) {
  return TraineeOn("{q: {torso: [{type: mlp, units: [4], activation: tanh}], core: " + core + "}}",
                   "name: r2d2, sequence: 4, n_step: 3, discount: 0.9, rescaling_epsilon: 0.01, eta: 0.7, "
                   "importance_exponent: 0.5, target_update_rate: 0.3, burn_in: " +
                       std::to_string(burn_in),
                   Environment(has_mask), torch::kFloat64, 1);
}

constexpr char kNone[] = "{type: none}";
constexpr char kLstm[] = "{type: lstm, units: 2}";

// Four sequences: one goes on after its end, one terminates, one begins with its episode and is truncated, and one is a
// whole short episode. Elements that do not count are NaN, or a choice.
TensorBatch RandomSequences(bool has_core) {
  torch::manual_seed(5);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  TensorBatch batch;
  batch.size = kRows;
  batch.table_items = 1000;
  batch.fields[kItemLength] = torch::tensor({7, 6, 7, 3}, torch::kInt64);
  batch.fields[kItemProbability] = torch::tensor({1e-3, 2e-3, 4e-3, 3e-3}, torch::kFloat64);
  batch.fields[kStepType] = torch::tensor(
      {{1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 2, 0}, {0, 1, 1, 1, 1, 1, 2}, {0, 1, 2, 0, 1, 1, 1}}, torch::kInt32);
  batch.fields[kDiscount] = torch::tensor({{1.0, 1.0, 1.0, 1.0, 1.0, 1.0, nan},
                                           {1.0, 1.0, 1.0, 1.0, 0.0, nan, nan},
                                           {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, nan},
                                           {1.0, 0.0, nan, nan, nan, nan, nan}},
                                          torch::kFloat64);
  const Tensor nothing = torch::isnan(batch.at(kDiscount));
  batch.fields[kObservation] = torch::randn({kRows, kLength, kFeatures}, torch::kFloat64);
  batch.fields[kReward] = (torch::randn({kRows, kLength}, torch::kFloat64) * 3).masked_fill(nothing, nan);
  batch.fields[kAction] = torch::randint(3, {kRows, kLength}, torch::kInt64);
  batch.fields["action_mask"] = torch::ones({kRows, kLength, 3}, torch::kBool);
  if (has_core) {
    batch.fields[kCoreState] = torch::randn({kRows, 2 * kUnits}, torch::kFloat64) * 0.5;
  }
  return batch;
}

// The values of a row of a batch: [times, choices].
Tensor ValuesOf(const Network& network, const TensorBatch& batch, int64_t row, bool has_core) {
  const torch::NoGradGuard no_grad;
  Tensor state;
  if (has_core) {
    const bool first = batch.at(kStepType)[row][0].item<int32_t>() == 0;
    state = batch.at(kCoreState)[row].unsqueeze(0) * (first ? 0 : 1);
  }
  std::vector<Tensor> values;
  for (int64_t t = 0; t < batch.at(kItemLength)[row].item<int64_t>(); ++t) {
    const Tensor observation = batch.at(kObservation)[row][t].unsqueeze(0);
    if (!has_core) {
      values.push_back(network.Forward({observation})[0].values[0]);
      continue;
    }
    Network::Unrolled unrolled = network.Unroll({observation}, {}, state);
    values.push_back(unrolled.heads[0].values[0]);
    state = unrolled.state;
  }
  return torch::stack(values);
}

// The TD errors of the learned steps of a row, one number at a time.
std::vector<double> Errors(const Tensor& online, const Tensor& target, const TensorBatch& batch, int64_t row) {
  const int64_t steps = online.size(0) - 1;
  const bool whole = batch.at(kStepType)[row][0].item<int32_t>() == 0;
  std::vector<double> errors;
  for (int64_t t = whole ? 0 : kBurnIn; t < steps; ++t) {
    double sum = 0;
    double weight = 1;
    int64_t at = t;
    for (; at < std::min(t + kNStep, steps); ++at) {
      sum += weight * batch.at(kReward)[row][at].item<double>();
      weight *= kDiscounting * batch.at(kDiscount)[row][at].item<double>();
    }
    int64_t best = -1;
    for (int64_t choice = 0; choice < online.size(1); ++choice) {
      if (batch.at("action_mask")[row][at][choice].item<bool>() &&
          (best < 0 || online[at][choice].item<double>() > online[at][best].item<double>())) {
        best = choice;
      }
    }
    sum += weight * UnrescaledValue(target[at][best].item<double>(), kEpsilon);
    const int64_t action = batch.at(kAction)[row][t].item<int64_t>();
    errors.push_back(online[t][action].item<double>() - RescaledValue(sum, kEpsilon));
  }
  return errors;
}

TEST_CASE("loss and priorities of r2d2 are those of the definition", "[unit]") {
  for (const auto& [core, has_mask] :
       std::vector<std::pair<std::string, bool>>{{kNone, false}, {kNone, true}, {kLstm, false}, {kLstm, true}}) {
    const bool has_core = core == kLstm;
    const auto trainee = Trainee(core, kBurnIn, has_mask);
    TensorBatch batch = RandomSequences(has_core);
    if (has_mask) {  // Two of three choices, of which one was taken.
      batch.fields["action_mask"] = batch.at(kAction).unsqueeze(-1) != (torch::arange(3) + 1).remainder(3);
    }
    LocalStepper local;
    for (int i = 0; i < 3; ++i) {
      Updated(trainee.get(), batch, &local);  // Makes the target differ from the network.
    }
    const Net& net = trainee->model().net("q");
    double loss = 0;
    int64_t count = 0;
    std::vector<double> priorities;
    for (int64_t row = 0; row < kRows; ++row) {
      const std::vector<double> errors = Errors(ValuesOf(net.network(), batch, row, has_core),
                                                ValuesOf(*net.target_network(), batch, row, has_core), batch, row);
      const double weight = std::sqrt(1e-3 / batch.at(kItemProbability)[row].item<double>());
      double most = 0;
      double sum = 0;
      for (const double error : errors) {
        loss += 0.5 * weight * error * error;
        most = std::max(most, std::abs(error));
        sum += std::abs(error);
      }
      count += static_cast<int64_t>(errors.size());
      priorities.push_back(kEta * most + (1 - kEta) * sum / static_cast<double>(errors.size()));
    }
    CHECK(count == 4 + 3 + 6 + 2);
    CaptureStepper capture;
    const UpdateResult result = Updated(trainee.get(), batch, &capture);
    CHECK(Metric(result, "q_loss") == Approx(loss / static_cast<double>(count)));
    CHECK(torch::allclose(result.priorities[0].to(torch::kFloat64), torch::tensor(priorities, torch::kFloat64)));
  }
}

TEST_CASE("no gradient flows through the burn-in", "[unit]") {
  // The gradient is that of sequences that begin where the burn-in ends, with the state that it leaves.
  const auto trainee = Trainee(kLstm);
  const auto without = Trainee(kLstm, 0);
  const TensorBatch batch = [] {
    TensorBatch both = RandomSequences(true);
    both.size = 2;
    for (auto& [name, field] : both.fields) {
      field = field.narrow(0, 0, 2).clone();
    }
    return both;
  }();
  TensorBatch rest = batch;
  for (const char* name : {kObservation, kAction, kReward, kDiscount, kStepType}) {
    rest.fields[name] = batch.at(name).narrow(1, kBurnIn, kLength - kBurnIn).clone();
  }
  rest.fields[kItemLength] = batch.at(kItemLength) - kBurnIn;
  {
    const torch::NoGradGuard no_grad;
    const Tensor observations = batch.at(kObservation).narrow(1, 0, kBurnIn).transpose(0, 1).flatten(0, 1);
    rest.fields[kCoreState] =
        trainee->model().net("q").network().Unroll({observations}, {}, batch.at(kCoreState)).state.clone();
  }
  CaptureStepper burnt_in;
  CaptureStepper begun;
  Updated(trainee.get(), batch, &burnt_in);
  Updated(without.get(), rest, &begun);
  const Tensor gradient = burnt_in.gradients().at("q");
  CHECK(gradient.abs().max().item<double>() > 1e-3);
  CHECK(torch::allclose(gradient, begun.gradients().at("q"), 1e-9, 1e-12));
}

TEST_CASE("gradients of r2d2 equal finite differences without a burn-in", "[unit]") {
  const auto trainee = Trainee(kLstm, 0);
  CheckGradients(trainee.get(), {trainee->model().net("q").group()}, RandomSequences(true));
}

TEST_CASE("the target of r2d2 follows by its share every update_steps updates", "[unit]") {
  const auto trainee =
      TraineeOn("{q: {torso: [], core: {type: none}}}", "name: r2d2, target_update_rate: 0.25, update_steps: 2",
                Environment(), torch::kFloat64, 1);
  const Net& net = trainee->model().net("q");
  const Tensor start = net.target_network()->parameters().values().clone();
  const TensorBatch batch = RandomSequences(false);
  LocalStepper stepper;
  Updated(trainee.get(), batch, &stepper);
  CHECK(torch::equal(net.target_network()->parameters().values(), start));
  Updated(trainee.get(), batch, &stepper);
  CHECK(torch::allclose(net.target_network()->parameters().values(),
                        start.lerp(net.network().parameters().values(), 0.25)));
}

}  // namespace
}  // namespace waggle::testing
