#include <cmath>

#include "tests/support/agents/agent_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::RandomTransitions;
using testing::Updated;
using torch::Tensor;

constexpr int64_t kUnits = 3;
constexpr int64_t kRows = 7;

EnvironmentSpec First() {
  return testing::EnvironmentOf(3, Discrete("action", 4));
}

EnvironmentSpec Second() {
  return testing::EnvironmentOf(2, Discrete("action", 2));
}

std::unique_ptr<AlgorithmTrainee> QmixOn(const EnvironmentSpec& environment, const std::string& options = "") {
  const std::string torso = "torso: [{type: mlp, units: [5], activation: tanh}]";
  return testing::TraineeOn("{q: {" + torso + "}, mixer: {" + torso + "}}\nreplay: {sampler: {kind: prioritized}}",
                            "name: qmix, discount: 0.9, mixing_units: 3" + options, environment, torch::kFloat64, 1);
}

// The mixture of two values by definition.
double Mixed(const Network& mixer, const Observations& observation, double first, double second) {
  const std::vector<Network::HeadOutput> heads = mixer.Forward(observation);  // In the order of their names.
  const auto at = [&](size_t head, int64_t i) { return heads[head].values[0][i].item<double>(); };
  double total = at(2, 0);
  for (int64_t unit = 0; unit < kUnits; ++unit) {
    const double input = std::abs(at(1, unit)) * first + std::abs(at(1, kUnits + unit)) * second + at(0, unit);
    total += std::abs(at(3, unit)) * (input > 0 ? input : std::expm1(input));
  }
  return total;
}

TEST_CASE("QMIX's loss is that of a loop over rows, with the team's reward and double Q-learning of each agent",
          "[unit]") {
  const EnvironmentSpec environment = testing::Together({{"a", First()}, {"b", Second()}});
  const TensorBatch a = RandomTransitions(First(), kRows, 3);
  const TensorBatch b = RandomTransitions(Second(), kRows, 4);
  const auto qmix = QmixOn(environment);
  testing::MoveTargets(qmix.get());
  const auto net = [&](const char* name) -> const Net& { return qmix->model().net(name); };
  const Tensor probability = a.at(kItemProbability);
  double loss = 0;
  std::vector<double> errors;
  for (int64_t row = 0; row < kRows; ++row) {
    const auto both = [&](const char* field) {
      return Observations{a.at(field).narrow(0, row, 1), b.at(field).narrow(0, row, 1)};
    };
    const auto best = [&](const Net& q, const Tensor& next) {
      const int64_t choice = q({next}).q()[0].argmax().item<int64_t>();
      return q.target()({next}).q()[0][choice].item<double>();
    };
    const Observations next = both("next_observation");
    double target = (a.at(kReward)[row][0] + b.at(kReward)[row][0]).item<double>() / 2;
    if (row % 3 != 0) {
      target += 0.9 * Mixed(*net("mixer").target_network(), next, best(net("q_a"), next[0]), best(net("q_b"), next[1]));
    }
    const Observations now = both(kObservation);
    const auto taken = [&](const Net& q, const Tensor& observation, const TensorBatch& batch) {
      return q({observation}).q()[0][batch.at(kAction)[row].item<int64_t>()].item<double>();
    };
    const double value = Mixed(net("mixer").network(), now, taken(net("q_a"), now[0], a), taken(net("q_b"), now[1], b));
    // The exponent of importance weights begins at 0.4.
    const double weight = std::pow((probability.min() / probability[row]).item<double>(), 0.4);
    errors.push_back(std::abs(value - target));
    loss += weight * errors.back() * errors.back() / kRows;
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(qmix.get(), testing::TogetherBatch({{"a", a}, {"b", b}}), &stepper);
  for (const char* const name : {"q_a_loss", "q_b_loss", "mixer_loss"}) {
    CHECK(Metric(result, name) == Approx(loss));
  }
  for (int64_t row = 0; row < kRows; ++row) {
    CHECK(result.priorities[0][row].item<double>() == Approx(errors[static_cast<size_t>(row)]));
  }
}

TEST_CASE("QMIX descends its loss by the values of all agents and the mixture at once", "[unit]") {
  const EnvironmentSpec environment = testing::Together({{"a", First()}, {"b", Second()}});
  const TensorBatch batch = testing::TogetherBatch(
      {{"a", RandomTransitions(First(), kRows, 3)}, {"b", RandomTransitions(Second(), kRows, 4)}});
  const auto qmix = QmixOn(environment);
  testing::CheckGradients(qmix.get(), qmix->groups(), batch);
  for (const char* const network : {"q_a", "q_b", "mixer"}) {
    testing::CheckTargetFollows(qmix.get(), network, batch, 0.01);
  }
}

TEST_CASE("QMIX's value of a team is largest for the best choices of each agent", "[unit]") {
  const EnvironmentSpec environment = testing::Together({{"a", First()}, {"b", Second()}});
  const auto qmix = QmixOn(environment);
  const auto net = [&](const char* name) -> const Net& { return qmix->model().net(name); };
  torch::manual_seed(1);
  for (int trial = 0; trial < 20; ++trial) {
    const Observations seen = {torch::randn({1, 3}, torch::kFloat64), torch::randn({1, 2}, torch::kFloat64)};
    const Tensor a = net("q_a")({seen[0]}).q()[0];
    const Tensor b = net("q_b")({seen[1]}).q()[0];
    const auto value = [&](const Tensor& of_a, const Tensor& of_b) {
      return Mixed(net("mixer").network(), seen, of_a.item<double>(), of_b.item<double>());
    };
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t k = 0; k < 2; ++k) {
        CHECK(value(a[i], b[k]) <= value(a.max(), b.max()) + 1e-12);
      }
    }
  }
}

TEST_CASE("agents that share a network in QMIX learn it from the rows of all", "[unit]") {
  const EnvironmentSpec environment = testing::Together({{"a", First()}, {"b", First()}});
  const TensorBatch batch = testing::TogetherBatch(
      {{"a", RandomTransitions(First(), kRows, 3)}, {"b", RandomTransitions(First(), kRows, 4)}});
  const auto shared = QmixOn(environment, ", share: true");
  const auto apart = QmixOn(environment);
  const auto values = [](AlgorithmTrainee* trainee, const char* network) {
    return trainee->model().net(network).group()->values();
  };
  for (const char* const network : {"q_a", "q_b"}) {
    Tensor own = values(apart.get(), network);
    own.copy_(values(shared.get(), "q"));
    apart->model().net(network).FollowTarget(1);
  }
  CaptureStepper of_shared, of_apart;
  CHECK(Metric(Updated(shared.get(), batch, &of_shared), "mixer_loss") ==
        Approx(Metric(Updated(apart.get(), batch, &of_apart), "mixer_loss")));
  CHECK(
      torch::allclose(of_shared.gradients().at("q"), of_apart.gradients().at("q_a") + of_apart.gradients().at("q_b")));
}

}  // namespace
}  // namespace waggle
