#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/rl/algorithms/mixed_soft_actor_critic/policy.h"
#include "common/rl/kit/noise.h"
#include "tests/support/algorithm_checks.h"
#include "tests/support/chi_square.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::TraineeOf;
using testing::Updated;
using torch::Tensor;

constexpr int64_t kChoices = 4;

// The choice is the second leaf, and the joint action's first element.
EnvironmentSpec Environment(bool is_masked) {
  EnvironmentSpec environment = testing::EnvironmentOf(3, Box("action/steer", DType::kFloat32, {2}, -1, 1));
  environment.actions.push_back(Discrete("action/gear", kChoices));
  if (is_masked) {
    environment.observations.push_back(MultiBinary("action_mask/gear", {kChoices}));
  }
  return environment;
}

// With a mask the taken first choice is legal in every row, and each other one in every second row.
TensorBatch BatchOf(bool is_masked, int64_t rows) {
  TensorBatch batch = testing::RandomTransitions(Environment(is_masked), rows, 3);
  batch.fields["action/steer"] = batch.at(kAction);
  batch.fields["action/gear"] = torch::randint(kChoices, {rows}, torch::kInt64);
  batch.fields.erase(kAction);
  if (is_masked) {
    batch.fields["action/gear"].zero_();
    for (const char* const name : {"action_mask/gear", "next_action_mask/gear"}) {
      Tensor mask = (torch::arange(rows * kChoices).view({rows, kChoices}) / 2).floor().remainder(2) == 0;
      mask.select(1, 0).fill_(true);
      batch.fields[name] = mask;
    }
  }
  return batch;
}

void Move(AlgorithmTrainee* trainee) {
  testing::MoveTargets(trainee);
  for (const auto& [scalar, value] :
       std::map<std::string, double>{{"log_temperature", -0.7}, {kChoiceTemperature, -1.1}}) {
    Tensor values = trainee->model().scalar(scalar)->parameters().values();
    values.fill_(value);
  }
}

// A row's expectations as sums over legal choices, beside the real action of these normal numbers.
struct Weighed {
  double q = 0;  // By the least critic.
  double entropy = 0;
  double most_entropy = 0;  // The largest of any choice.
  double log_prob = 0;      // The real action's.
};
template <class Critic>
Weighed Weigh(const Net& actor, const Critic& critic, const Observations& observation, const Tensor& normal) {
  const double temperature = std::exp(-1.1);
  const Distribution policy = actor(observation).policy();
  const Tensor reals = (policy.mean() + policy.stddev() * normal.unsqueeze(0)).tanh();
  const Tensor q = critic(observation, {}, {reals}).vector("q");
  std::vector<double> least;
  for (int64_t choice = 0; choice < kChoices; ++choice) {
    if (observation.size() == 1 || observation[1][0][choice].template item<bool>()) {
      least.push_back(std::min(q[0][0][choice].template item<double>(), q[1][0][choice].template item<double>()));
    }
  }
  double sum = 0;
  for (const double value : least) {
    sum += std::exp(value / temperature);
  }
  Weighed weighed;
  for (const double value : least) {
    const double probability = std::exp(value / temperature) / sum;
    weighed.q += probability * value;
    weighed.entropy -= probability * std::log(probability);
  }
  weighed.most_entropy = std::log(static_cast<double>(least.size()));
  weighed.log_prob = policy.LogProb(reals)[0].template item<double>();
  return weighed;
}

TEST_CASE("SAC's losses of a choice beside real actions are those of a loop over rows and legal choices", "[unit]") {
  for (const bool is_masked : {false, true}) {
    for (const bool is_given : {false, true}) {
      const std::string targets = is_given ? ", target_entropy: -1.5, choice_target_entropy: 0.3" : "";
      const EnvironmentSpec environment = Environment(is_masked);
      const auto trainee = TraineeOf("name: sac, discount: 0.9, importance_exponent: 0.5" + targets, environment);
      Move(trainee.get());
      const TensorBatch batch = BatchOf(is_masked, 7);
      const Net& actor = trainee->model().net("actor");
      const Net& critic = trainee->model().net("critic");
      const Tensor probability = batch.at(kItemProbability);
      Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
      const Tensor normal_next = draws.NormalLike(batch.at("action/steer"));
      const Tensor normal_now = draws.NormalLike(batch.at("action/steer"));
      const double alpha = std::exp(-0.7);
      const double choice_alpha = std::exp(-1.1);
      double critic_loss = 0, actor_loss = 0, entropy = 0, choice_entropy = 0, choice_target = 0;
      for (int64_t row = 0; row < 7; ++row) {
        Observations now, next;
        for (const SpaceLeaf& leaf : environment.observations) {
          now.push_back(batch.at(leaf.array.name).narrow(0, row, 1));
          next.push_back(batch.at("next_" + leaf.array.name).narrow(0, row, 1));
        }
        double target = batch.at(kReward)[row][0].item<double>();
        if (row % 3 != 0) {
          const Weighed weighed = Weigh(actor, critic.target(), next, normal_next[row]);
          target += 0.9 * (weighed.q + choice_alpha * weighed.entropy - alpha * weighed.log_prob);
        }
        const double weight = std::sqrt((probability.min() / probability[row]).item<double>());
        const Tensor taken = critic(now, {}, {batch.at("action/steer").narrow(0, row, 1)}).vector("q");
        for (int64_t member = 0; member < 2; ++member) {
          const double value = taken[member][0][batch.at("action/gear")[row].item<int64_t>()].item<double>();
          critic_loss += weight * 0.5 * std::pow(value - target, 2) / 7;
        }
        const Weighed weighed = Weigh(actor, critic, now, normal_now[row]);
        actor_loss += weight * (alpha * weighed.log_prob - weighed.q - choice_alpha * weighed.entropy) / 7;
        entropy -= weighed.log_prob / 7;
        choice_entropy += weighed.entropy / 7;
        choice_target += (is_given ? 0.3 : 0.5 * weighed.most_entropy) / 7;
      }
      CaptureStepper stepper;
      const UpdateResult result = Updated(trainee.get(), batch, &stepper);
      CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
      CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
      CHECK(Metric(result, "log_temperature_loss") == Approx(-0.7 * (entropy + (is_given ? 1.5 : 2))));
      CHECK(Metric(result, "log_choice_temperature_loss") == Approx(-1.1 * (choice_entropy - choice_target)));
      CHECK(Metric(result, "choice_entropy") == Approx(choice_entropy));
      CHECK(Metric(result, "choice_temperature") == Approx(choice_alpha));
    }
  }
}

TEST_CASE("SAC's gradients of a choice beside real actions are finite differences of its losses", "[unit]") {
  for (const bool is_masked : {false, true}) {
    const auto trainee = TraineeOf("name: sac", Environment(is_masked));
    Move(trainee.get());
    // The entropy depends on the temperature, and is constant in its gradient: at 1 the difference is 0.
    Tensor log_temperature = trainee->model().scalar(kChoiceTemperature)->parameters().values();
    log_temperature.fill_(0);
    const Model& model = trainee->model();
    testing::CheckGradients(trainee.get(),
                            {model.net("actor").group(), model.net("critic").group(),
                             model.scalar("log_temperature")->group(), model.scalar(kChoiceTemperature)->group()},
                            BatchOf(is_masked, 6));
  }
}

// The acting half of a trainee's networks, and what it does for one observation in many rows.
struct Acting {
  explicit Acting(const std::string& keys)
      : environment(Environment(/*is_masked=*/true)),
        trainee(TraineeOf("name: sac" + keys, environment, torch::kFloat32)) {}

  Acted Act(int64_t rows, bool greedy, std::optional<double> log_temperature) {
    ActingNets nets{environment, torch::kCPU, rows, {}};
    for (const char* const name : {"actor", "critic"}) {
      nets.nets.emplace(name, NetView(&trainee->model().net(name).network()));
    }
    if (log_temperature.has_value()) {
      nets.scalars.emplace(kChoiceTemperature, torch::full({}, *log_temperature, torch::kFloat32));
    }
    SacOptions options;
    options.learn_temperature = log_temperature.has_value();
    options.temperature = 0.5;
    MixedActingPolicy policy(options, nets);
    const torch::NoGradGuard no_grad;
    const Observations many = {observation[0].repeat({rows, 1}), observation[1].repeat({rows, 1})};
    return policy.Act({many, torch::arange(rows), torch::zeros({rows}, torch::kBool), greedy, &noise});
  }

  // The least critic's values beside these real actions, [rows, choices].
  Tensor Values(const Tensor& reals) const {
    const Observations many = {observation[0].repeat({reals.size(0), 1}), observation[1].repeat({reals.size(0), 1})};
    return trainee->model().net("critic")(many, {}, {reals}).vector("q").amin(0);
  }

  const EnvironmentSpec environment;
  const std::unique_ptr<AlgorithmTrainee> trainee;
  // The third choice is illegal.
  const Observations observation = {torch::tensor({{0.3F, -1.2F, 0.8F}}),
                                    torch::tensor({{1, 1, 0, 1}}).to(torch::kBool)};
  Noise noise{3, torch::kCPU};
};

TEST_CASE("greedily SAC takes the mean and the best legal choice beside it, however high the temperature is",
          "[unit]") {
  Acting acting("");
  const Tensor mode = acting.trainee->model().net("actor")(acting.observation).policy().Mode();
  const Tensor q = acting.Values(mode)[0];
  int64_t best = 0;
  for (const int64_t choice : {1, 3}) {
    best = q[choice].item<float>() > q[best].item<float>() ? choice : best;
  }
  for (const double log_temperature : {-20.0, 0.0, 20.0}) {
    const Acted acted = acting.Act(2, /*greedy=*/true, log_temperature);
    REQUIRE(acted.action.sizes() == at::IntArrayRef({2, 3}));
    CHECK(acted.action[1][0].item<float>() == static_cast<float>(best));
    CHECK(torch::allclose(acted.action.narrow(1, 1, 2), mode.expand({2, 2})));
  }
}

TEST_CASE("SAC draws a choice by the critics' values beside the drawn real action over the temperature", "[unit]") {
  constexpr int64_t kRows = 20'000;
  Acting acting("");
  for (const std::optional<double> log_temperature : {std::optional<double>(-2.5), std::optional<double>()}) {
    const double temperature = log_temperature.has_value() ? std::exp(*log_temperature) : 0.5;
    const Tensor action = acting.Act(kRows, /*greedy=*/false, log_temperature).action;
    const Tensor probability =
        (acting.Values(action.narrow(1, 1, 2)) / temperature)
            .masked_fill(acting.observation[1].logical_not(), -std::numeric_limits<float>::infinity())
            .softmax(1)
            .sum(0);
    std::map<int64_t, int64_t> counts;
    std::map<int64_t, double> weights;
    for (const int64_t choice : {0, 1, 3}) {
      counts[choice] = (action.select(1, 0) == choice).sum().item<int64_t>();
      weights[choice] = probability[choice].item<double>();
    }
    CHECK(counts[0] + counts[1] + counts[3] == kRows);
    testing::CheckChiSquare(counts, weights);
    CHECK(action.narrow(1, 1, 2).std().item<double>() > 0);
  }
}

// One state, choices 0 and 1 and a real action a; the reward is 1 - (a - 0.5)^2 for choice 0, and for choice 1
// 0.8 - (a + 0.5)^2. The best answer is 0 beside 0.5.
TEST_CASE("SAC finds the choice and the real action that are best together", "[unit]") {
  EnvironmentSpec environment = testing::EnvironmentOf(2, Box("action/a", DType::kFloat32, {1}, -1, 1));
  environment.actions.push_back(Discrete("action/b", 2));
  const auto trainee = TraineeOf(
      "name: sac, discount: 0, learn_temperature: false, temperature: 0.02, actor_optimizer: {learning_rate: 0.01}, "
      "critic_optimizer: {learning_rate: 0.01}",
      environment, torch::kFloat64, 1, 16);
  constexpr int64_t kRows = 64;
  TensorBatch batch = testing::RandomTransitions(environment, kRows, 1);
  batch.fields.erase(kAction);
  for (const char* const name : {kObservation, "next_observation"}) {
    batch.fields[name].fill_(1);
  }
  const Tensor a = torch::linspace(-1, 1, kRows, torch::kFloat64);
  const Tensor b = torch::arange(kRows).remainder(2);
  batch.fields["action/a"] = a.unsqueeze(1);
  batch.fields["action/b"] = b;
  batch.fields[kReward].select(1, 0).copy_(torch::where(b == 0, 1 - (a - 0.5).square(), 0.8 - (a + 0.5).square()));
  LocalStepper stepper;
  for (int step = 0; step < 1500; ++step) {
    Updated(trainee.get(), batch, &stepper);
  }
  const Observations shown = {torch::ones({1, 2}, torch::kFloat64)};
  const Tensor mode = trainee->model().net("actor")(shown).policy().Mode();
  CHECK(mode.item<double>() == Approx(0.5).margin(0.1));
  const Tensor q = trainee->model().net("critic")(shown, {}, {mode}).vector("q").amin(0)[0];
  CHECK(q[0].item<double>() == Approx(1).margin(0.1));
  CHECK(q[1].item<double>() == Approx(-0.2).margin(0.2));
}

}  // namespace
}  // namespace waggle
