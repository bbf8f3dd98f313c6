#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/rl/kit/noise.h"
#include "common/rl/kit/returns/n_step_returns.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::RandomTransitions;
using testing::TraineeOf;
using testing::Updated;

EnvironmentSpec Real() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

EnvironmentSpec Choices() {
  return testing::EnvironmentOf(3, Discrete("action", 4));
}

// The same, with some illegal choices.
EnvironmentSpec LegalChoices() {
  EnvironmentSpec environment = Choices();
  environment.observations.push_back(MultiBinary("action_mask", {4}));
  return environment;
}

// With a mask, the taken first choice is legal in every row, and each other one in every second row.
TensorBatch BatchOf(const EnvironmentSpec& environment, int64_t rows, uint64_t seed) {
  TensorBatch batch = RandomTransitions(environment, rows, seed);
  if (environment.observations.size() > 1) {
    batch.fields[kAction].zero_();
    for (const char* const name : {"action_mask", "next_action_mask"}) {
      torch::Tensor mask = (torch::arange(rows * 4).view({rows, 4}) / 2).floor().remainder(2) == 0;
      mask.select(1, 0).fill_(true);
      batch.fields[name] = mask;
    }
  }
  return batch;
}

std::vector<ParameterGroup*> Groups(AlgorithmTrainee* trainee) {
  return {trainee->model().net("actor").group(), trainee->model().net("critic").group(),
          trainee->model().scalar("log_temperature")->group()};
}

// Makes the critics' targets differ from what they follow, and the temperature from 1.
void Move(AlgorithmTrainee* trainee) {
  torch::Tensor values = trainee->model().net("critic").target_network()->parameters().values();
  values.mul_(0.5).add_(0.1);
  torch::Tensor temperature = trainee->model().scalar("log_temperature")->parameters().values();
  temperature.fill_(-0.7);
}

// The action of a row for these normal numbers, by the paper's change of variables.
struct Drawn {
  torch::Tensor action;  // [1, dimensions].
  double log_prob = 0;
};
Drawn Draw(const Network& actor, const Observations& observation, const torch::Tensor& normal) {
  const torch::Tensor outputs = actor.Forward(observation)[0].values;
  const int64_t dimensions = normal.size(0);
  Drawn drawn{torch::zeros({1, dimensions}, torch::kFloat64), 0};
  for (int64_t i = 0; i < dimensions; ++i) {
    const double mean = outputs[0][i].item<double>();
    const double log_std = std::clamp(outputs[0][dimensions + i].item<double>(), -20.0, 2.0);
    const double epsilon = normal[i].item<double>();
    const double action = std::tanh(mean + std::exp(log_std) * epsilon);
    drawn.action[0][i] = action;
    drawn.log_prob += -0.5 * epsilon * epsilon - log_std - 0.5 * std::log(2 * M_PI) - std::log(1 - action * action);
  }
  return drawn;
}

// Real actions, and a reward of two dimensions.
EnvironmentSpec VectorReward() {
  EnvironmentSpec environment = Real();
  environment.rewards = {ArraySpec{kReward, DType::kFloat32, {2}}};
  return environment;
}

TensorBatch VectorRewards(int64_t rows, uint64_t seed) {
  TensorBatch batch = RandomTransitions(VectorReward(), rows, seed);
  batch.fields[kReward] = torch::randn({rows, 2, 2}, torch::kFloat64);
  return batch;
}

TEST_CASE("SAC's losses of a vector reward are those of a loop over rows and dimensions", "[unit]") {
  const auto trainee =
      TraineeOf("name: sac, discount: 0.9, target_entropy: -1.5, reward_weights: [2, -0.5], importance_exponent: 0",
                VectorReward());
  Move(trainee.get());
  const TensorBatch batch = VectorRewards(7, 3);
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  const double alpha = std::exp(-0.7);
  const double weights[] = {2, -0.5, 1};  // The last is that of the entropy.
  Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
  const torch::Tensor normal_next = draws.NormalLike(batch.at(kAction));
  const torch::Tensor normal_now = draws.NormalLike(batch.at(kAction));
  // The critics' value of this dimension that counts least.
  const auto least = [&](const torch::Tensor& values, int64_t i) {
    const double one = values[0][0][i].item<double>(), other = values[1][0][i].item<double>();
    return weights[i] < 0 ? std::max(one, other) : std::min(one, other);
  };
  double critic_loss = 0, actor_loss = 0;
  std::vector<double> priorities;
  for (int64_t row = 0; row < 7; ++row) {
    const Observations now = {batch.at(kObservation).narrow(0, row, 1)};
    const Observations next = {batch.at("next_observation").narrow(0, row, 1)};
    const Drawn next_drawn = Draw(actor.network(), next, normal_next[row]);
    const torch::Tensor next_values = critic.target()(next, next_drawn.action).values();
    const torch::Tensor values = critic(now, batch.at(kAction).narrow(0, row, 1)).values();
    double priority = 0;
    for (int64_t member = 0; member < 2; ++member) {
      double weighted = 0;
      for (int64_t i = 0; i < 3; ++i) {
        double target = i < 2 ? batch.at(kReward)[row][0][i].item<double>() : 0;
        if (row % 3 != 0) {
          target += 0.9 * (least(next_values, i) - (i == 2 ? alpha * next_drawn.log_prob : 0));
        }
        const double error = values[member][0][i].item<double>() - target;
        critic_loss += 0.5 * error * error / 3 / 7;
        weighted += weights[i] * error;
      }
      priority += std::abs(weighted) / 2;
    }
    priorities.push_back(priority);
    const Drawn drawn = Draw(actor.network(), now, normal_now[row]);
    const torch::Tensor drawn_values = critic(now, drawn.action).values();
    actor_loss += alpha * drawn.log_prob / 7;
    for (int64_t i = 0; i < 3; ++i) {
      actor_loss -= weights[i] * least(drawn_values, i) / 7;
    }
  }
  CaptureStepper stepper;
  const UpdateResult learned = Updated(trainee.get(), batch, &stepper);
  CHECK(Metric(learned, "critic_loss") == Approx(critic_loss));
  CHECK(Metric(learned, "actor_loss") == Approx(actor_loss));
  for (int64_t row = 0; row < 7; ++row) {
    CHECK(learned.priorities[0][row].item<double>() == Approx(priorities[static_cast<size_t>(row)]));
  }
  testing::CheckGradients(trainee.get(), Groups(trainee.get()), batch);
}

TEST_CASE("n-step returns of a vector reward are those of its dimensions", "[unit]") {
  const TensorBatch batch = VectorRewards(6, 4);
  const NStepReturn both = NStepReturns(batch.at(kReward), batch.at(kDiscount), batch.at(kItemLength), 0.9);
  for (int64_t i = 0; i < 2; ++i) {
    const NStepReturn one =
        NStepReturns(batch.at(kReward).select(-1, i), batch.at(kDiscount), batch.at(kItemLength), 0.9);
    CHECK(both.rewards.select(-1, i).equal(one.rewards));
    CHECK(both.bootstrap.equal(one.bootstrap));
  }
}

TEST_CASE("SAC's losses of real actions are those of a loop over rows", "[unit]") {
  const auto trainee = TraineeOf("name: sac, discount: 0.9, importance_exponent: 0.5, target_entropy: -1.5", Real());
  Move(trainee.get());
  const TensorBatch batch = RandomTransitions(Real(), 7, 3);
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  const double alpha = std::exp(-0.7);
  const torch::Tensor probability = batch.at(kItemProbability);
  Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
  const torch::Tensor normal_next = draws.NormalLike(batch.at(kAction));
  const torch::Tensor normal_now = draws.NormalLike(batch.at(kAction));
  double critic_loss = 0;
  double actor_loss = 0;
  double temperature_loss = 0;
  for (int64_t row = 0; row < 7; ++row) {
    const Observations now = {batch.at(kObservation).narrow(0, row, 1)};
    const Observations next = {batch.at("next_observation").narrow(0, row, 1)};
    const auto least = [](const torch::Tensor& values) {
      return std::min(values[0][0].item<double>(), values[1][0].item<double>());
    };
    double target = batch.at(kReward)[row][0].item<double>();
    if (row % 3 != 0) {
      const Drawn drawn = Draw(actor.network(), next, normal_next[row]);
      target += 0.9 * (least(critic.target()(next, drawn.action).value()) - alpha * drawn.log_prob);
    }
    const double weight = std::sqrt((probability.min() / probability[row]).item<double>());
    const torch::Tensor values = critic(now, batch.at(kAction).narrow(0, row, 1)).value();
    for (int64_t member = 0; member < 2; ++member) {
      const double error = values[member][0].item<double>() - target;
      critic_loss += weight * 0.5 * error * error / 7;
    }
    const Drawn drawn = Draw(actor.network(), now, normal_now[row]);
    actor_loss += weight * (alpha * drawn.log_prob - least(critic(now, drawn.action).value())) / 7;
    temperature_loss -= -0.7 * (drawn.log_prob - 1.5) / 7;
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(trainee.get(), batch, &stepper);
  CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
  CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
  CHECK(Metric(result, "log_temperature_loss") == Approx(temperature_loss));
}

// A policy's expectations of a row, as sums over its choices.
struct Weighed {
  double q = 0;  // By the least critic.
  double entropy = 0;
  double most_entropy = 0;  // The largest of any policy.
};
template <class Critic>
Weighed Weigh(const Net& actor, const Critic& critic, const Observations& observation) {
  const torch::Tensor logits = actor.network().Forward(observation)[0].values[0];
  const torch::Tensor q = critic(observation).q();
  const auto is_legal = [&](int64_t choice) {
    return observation.size() == 1 || observation[1][0][choice].template item<bool>();
  };
  Weighed weighed;
  double sum = 0;
  int legal = 0;
  for (int64_t choice = 0; choice < 4; ++choice) {
    sum += is_legal(choice) ? std::exp(logits[choice].item<double>()) : 0;
    legal += is_legal(choice) ? 1 : 0;
  }
  for (int64_t choice = 0; choice < 4; ++choice) {
    if (is_legal(choice)) {
      const double probability = std::exp(logits[choice].item<double>()) / sum;
      weighed.q +=
          probability * std::min(q[0][0][choice].template item<double>(), q[1][0][choice].template item<double>());
      weighed.entropy -= probability * std::log(probability);
    }
  }
  weighed.most_entropy = std::log(legal);
  return weighed;
}

TEST_CASE("SAC's losses of choices are those of a loop over rows and legal choices", "[unit]") {
  for (const EnvironmentSpec& environment : {Choices(), LegalChoices()}) {
    for (const bool is_given : {false, true}) {
      const std::string target_entropy = is_given ? ", target_entropy: 0.3" : "";
      const auto trainee =
          TraineeOf("name: sac, discount: 0.9, importance_exponent: 0.5" + target_entropy, environment);
      Move(trainee.get());
      const TensorBatch batch = BatchOf(environment, 7, 3);
      const Net& actor = trainee->model().net("actor");
      const Net& critic = trainee->model().net("critic");
      const double alpha = std::exp(-0.7);
      const torch::Tensor probability = batch.at(kItemProbability);
      double critic_loss = 0;
      double actor_loss = 0;
      double temperature_loss = 0;
      for (int64_t row = 0; row < 7; ++row) {
        Observations now, next;
        for (const SpaceLeaf& leaf : environment.observations) {
          now.push_back(batch.at(leaf.array.name).narrow(0, row, 1));
          next.push_back(batch.at("next_" + leaf.array.name).narrow(0, row, 1));
        }
        double target = batch.at(kReward)[row][0].item<double>();
        if (row % 3 != 0) {
          const Weighed weighed = Weigh(actor, critic.target(), next);
          target += 0.9 * (weighed.q + alpha * weighed.entropy);
        }
        const double weight = std::sqrt((probability.min() / probability[row]).item<double>());
        const torch::Tensor values = critic(now).q();
        for (int64_t member = 0; member < 2; ++member) {
          const double error = values[member][0][batch.at(kAction)[row].item<int64_t>()].item<double>() - target;
          critic_loss += weight * 0.5 * error * error / 7;
        }
        const Weighed weighed = Weigh(actor, critic, now);
        actor_loss -= weight * (weighed.q + alpha * weighed.entropy) / 7;
        temperature_loss += -0.7 * (weighed.entropy - (is_given ? 0.3 : 0.5 * weighed.most_entropy)) / 7;
      }
      CaptureStepper stepper;
      const UpdateResult result = Updated(trainee.get(), batch, &stepper);
      CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
      CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
      CHECK(Metric(result, "log_temperature_loss") == Approx(temperature_loss));
    }
  }
}

TEST_CASE("SAC's gradients are finite differences of its losses", "[unit]") {
  for (const EnvironmentSpec& environment : {Real(), Choices(), LegalChoices()}) {
    const auto trainee = TraineeOf("name: sac", environment);
    Move(trainee.get());
    testing::CheckGradients(trainee.get(), Groups(trainee.get()), BatchOf(environment, 6, 4));
  }
}

// The rows of a sequence one by one, each with the memory of the rows before.
TEST_CASE("SAC with cores learns sequences by the losses of a loop over steps", "[unit]") {
  constexpr int64_t kSteps = 4;
  constexpr int64_t kRows = 3;
  constexpr int64_t kBurnIn = 1;
  const std::string network = "torso: [{type: mlp, units: [5], activation: tanh}], core: {type: gru, units: 4}";
  const auto trainee = testing::TraineeOn(
      "{actor: {" + network + "}, critic: {" + network + "}}\nreplay: {sampler: {kind: prioritized}}",
      "name: sac, discount: 0.9, importance_exponent: 0, sequence: 3, burn_in: 1", Real(), torch::kFloat64, 1);
  Move(trainee.get());
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  torch::manual_seed(6);
  const auto random = [](std::vector<int64_t> sizes) { return torch::randn(sizes, torch::kFloat64); };
  TensorBatch batch;
  batch.size = kRows;
  batch.table_items = 1000;
  batch.fields[kObservation] = random({kRows, kSteps + 1, 3});
  batch.fields[kAction] = random({kRows, kSteps + 1, 2}).tanh();
  batch.fields[kReward] = random({kRows, kSteps + 1});
  batch.fields[kDiscount] = torch::ones({kRows, kSteps + 1}, torch::kFloat64);
  batch.fields[kStepType] = torch::ones({kRows, kSteps + 1}, torch::kInt32);
  batch.fields[kItemLength] = torch::full({kRows}, kSteps + 1, torch::kInt64);
  batch.fields[kItemProbability] = torch::full({kRows}, 1e-3, torch::kFloat64);
  batch.fields[kCoreState] = random({kRows, actor.network().plan().state_size});
  // The first sequence begins with its episode, the second one ends at a terminal state.
  batch.fields[kStepType][0][0] = static_cast<int32_t>(StepType::kFirst);
  batch.fields[kCoreState][0].zero_();
  batch.fields[kStepType][1][kSteps] = static_cast<int32_t>(StepType::kLast);
  batch.fields[kDiscount][1][kSteps - 1] = 0;

  Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
  const torch::Tensor normal_next = draws.NormalLike(torch::empty({kSteps + 1, kRows, 2}, torch::kFloat64));
  const torch::Tensor normal_now = draws.NormalLike(normal_next);
  const double alpha = std::exp(-0.7);
  double critic_loss = 0;
  double actor_loss = 0;
  int64_t learned = 0;
  const torch::NoGradGuard no_grad;
  for (int64_t row = 0; row < kRows; ++row) {
    torch::Tensor actor_state = batch.at(kCoreState).narrow(0, row, 1);
    torch::Tensor critic_state = torch::zeros({1, critic.network().plan().state_size}, torch::kFloat64);
    torch::Tensor target_state = critic_state;
    std::vector<double> soft;          // The target critics' soft value of each row.
    std::vector<torch::Tensor> taken;  // The critics' values of actions taken.
    std::vector<double> now;           // The actor's loss.
    for (int64_t t = 0; t <= kSteps; ++t) {
      const Observations shown = {batch.at(kObservation)[row][t].unsqueeze(0)};
      const Output acted = actor.Unroll(shown, {}, actor_state);
      const Distribution policy = acted.policy();
      const auto draw = [&](const torch::Tensor& normal) {
        return (policy.mean() + policy.stddev() * normal[t][row]).tanh();
      };
      const auto least = [](const Output& output) {
        return std::min(output.value()[0][0].item<double>(), output.value()[1][0].item<double>());
      };
      const torch::Tensor next_action = draw(normal_next);
      const Output target = critic.target().Unroll(shown, {}, target_state, {}, {next_action});
      soft.push_back(least(target) - alpha * policy.LogProb(next_action)[0].item<double>());
      const torch::Tensor action = draw(normal_now);
      const Output value = critic.Unroll(shown, {}, critic_state, {}, {action});
      now.push_back(alpha * policy.LogProb(action)[0].item<double>() - least(value));
      taken.push_back(critic.Unroll(shown, {}, critic_state, {}, {batch.at(kAction)[row][t].unsqueeze(0)}).value());
      actor_state = acted.core_state();
      critic_state = value.core_state();
      target_state = target.core_state();
    }
    for (int64_t t = row == 0 ? 0 : kBurnIn; t < kSteps; ++t) {
      const auto at = static_cast<size_t>(t);
      const double bootstrap = 0.9 * batch.at(kDiscount)[row][t].item<double>();
      const double target = batch.at(kReward)[row][t].item<double>() + bootstrap * soft[at + 1];
      for (int64_t member = 0; member < 2; ++member) {
        critic_loss += 0.5 * std::pow(taken[at][member][0].item<double>() - target, 2);
      }
      actor_loss += now[at];
      ++learned;
    }
  }
  CaptureStepper stepper;
  const UpdateResult result = [&] {
    const torch::AutoGradMode grad(true);
    return Updated(trainee.get(), batch, &stepper);
  }();
  CHECK(learned == 10);
  CHECK(Metric(result, "critic_loss") == Approx(critic_loss / 10));
  CHECK(Metric(result, "actor_loss") == Approx(actor_loss / 10));
}

// In state 0, choice 1 earns nothing and leads to state 1, where choice 0 earns 1 and leads back. Other choices earn
// 0.3 and stay. Soft value iteration (arXiv 1812.05905, (2) and (3)) gives the optimum.
TEST_CASE("SAC finds the optimal policy of two states at a fixed temperature", "[unit]") {
  constexpr double kStepDiscount = 0.8;
  constexpr double kTemperature = 0.5;
  constexpr double kRewards[2][2] = {{0.3, 0}, {1, 0.3}};
  constexpr int kNext[2][2] = {{0, 1}, {0, 1}};
  double q[2][2] = {};
  for (int sweep = 0; sweep < 200; ++sweep) {
    double v[2];
    for (int state = 0; state < 2; ++state) {
      v[state] = kTemperature * std::log(std::exp(q[state][0] / kTemperature) + std::exp(q[state][1] / kTemperature));
    }
    for (int pair = 0; pair < 4; ++pair) {
      q[pair / 2][pair % 2] = kRewards[pair / 2][pair % 2] + kStepDiscount * v[kNext[pair / 2][pair % 2]];
    }
  }
  const EnvironmentSpec environment = testing::EnvironmentOf(2, Discrete("action", 2));
  const auto trainee = TraineeOf(
      "name: sac, discount: 0.8, learn_temperature: false, temperature: 0.5, target_update_rate: 0.1, "
      "actor_optimizer: {learning_rate: 0.01}, critic_optimizer: {learning_rate: 0.01}",
      environment);
  TensorBatch batch = RandomTransitions(environment, 4, 1);
  const torch::Tensor states = torch::eye(2, torch::kFloat64);
  batch.fields[kDiscount].fill_(1);
  for (int pair = 0; pair < 4; ++pair) {
    batch.fields[kObservation][pair] = states[pair / 2];
    batch.fields[kAction][pair] = pair % 2;
    batch.fields[kReward][pair] = kRewards[pair / 2][pair % 2];
    batch.fields["next_observation"][pair] = states[kNext[pair / 2][pair % 2]];
  }
  LocalStepper stepper;
  for (int step = 0; step < 1500; ++step) {
    Updated(trainee.get(), batch, &stepper);
  }
  const torch::Tensor chosen = trainee->model().net("actor")({states}).policy().LogProbabilities().exp();
  const torch::Tensor values = trainee->model().net("critic")({states}).q();
  for (int state = 0; state < 2; ++state) {
    CHECK(chosen[state][0].item<double>() ==
          Approx(1 / (1 + std::exp((q[state][1] - q[state][0]) / kTemperature))).margin(0.02));
    for (int choice = 0; choice < 2; ++choice) {
      CHECK(values[0][state][choice].item<double>() == Approx(q[state][choice]).margin(0.05));
    }
  }
}

}  // namespace
}  // namespace waggle
