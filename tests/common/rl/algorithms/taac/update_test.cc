#include <cmath>
#include <vector>

#include "common/base/random.h"
#include "common/rl/algorithms/taac/switch.h"
#include "common/rl/algorithms/taac/taac.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::TraineeOf;
using testing::Updated;
using torch::Tensor;

constexpr int64_t kSteps = 3;
constexpr int64_t kRows = 4;

EnvironmentSpec Environment() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

// A sequence of each kind: one that repeats an action twice, one that repeats the action before it, one that ends at a
// terminal state and one that is truncated.
TensorBatch Sequences() {
  torch::manual_seed(5);
  const auto random = [](std::vector<int64_t> sizes) { return torch::randn(sizes, torch::kFloat64); };
  TensorBatch batch;
  batch.size = kRows;
  batch.table_items = 1000;
  batch.fields[kObservation] = random({kRows, kSteps + 1, 3});
  batch.fields[kAction] = random({kRows, kSteps + 1, 2}).tanh();
  batch.fields[TaacOptions::kRepeatedAction] = random({kRows, kSteps + 1, 2}).tanh();
  batch.fields[kReward] = random({kRows, kSteps + 1});
  batch.fields[kDiscount] = torch::ones({kRows, kSteps + 1}, torch::kFloat64);
  batch.fields[kStepType] = torch::ones({kRows, kSteps + 1}, torch::kInt32);
  batch.fields[kItemLength] = torch::full({kRows}, kSteps + 1, torch::kInt64);
  batch.fields[kItemProbability] = torch::full({kRows}, 1e-3, torch::kFloat64);
  batch.fields[kAction][0][1] = batch.fields[kAction][0][0];
  batch.fields[kAction][0][2] = batch.fields[kAction][0][0];
  batch.fields[kAction][1][0] = batch.fields[TaacOptions::kRepeatedAction][1][0];
  batch.fields[kDiscount][2][1] = 0;
  for (const int64_t row : {2, 3}) {
    batch.fields[kItemLength][row] = kSteps;
    batch.fields[kStepType][row][kSteps - 1] = static_cast<int32_t>(StepType::kLast);
  }
  return batch;
}

TEST_CASE("a switch is as likely as the exponentials of values over the temperature, with their entropy", "[unit]") {
  const Tensor alpha = torch::tensor(0.5, torch::kFloat64);
  const Switch choice(torch::tensor({1.0, 300.0}, torch::kFloat64), torch::tensor({1.75, -300.0}, torch::kFloat64),
                      alpha);
  const double p = std::exp(1.75 / 0.5) / (std::exp(1.75 / 0.5) + std::exp(1 / 0.5));
  CHECK(choice.probability[0].item<double>() == Approx(p));
  CHECK(choice.entropy[0].item<double>() == Approx(-p * std::log(p) - (1 - p) * std::log(1 - p)));
  CHECK(choice.Value()[0].item<double>() == Approx(p * 1.75 + (1 - p) * 1));
  CHECK(choice.probability[1].item<double>() == 0);
  CHECK(choice.entropy[1].item<double>() == Approx(0).margin(1e-12));
}

// The values of a row and step by the least critic.
template <class Critic>
double Least(const Critic& critic, const Tensor& observation, const Tensor& action) {
  const Tensor q = critic({observation.unsqueeze(0)}, action.unsqueeze(0)).value();
  return std::min(q[0][0].template item<double>(), q[1][0].template item<double>());
}

TEST_CASE("TAAC's losses are those of a loop over sequences and steps", "[unit]") {
  const auto trainee = TraineeOf(
      "name: taac, n_step: 3, discount: 0.9, importance_exponent: 0, target_entropy: -1.5, switch_target_entropy: 0.4",
      Environment());
  Tensor values = trainee->model().net("critic").target_network()->parameters().values();
  values.mul_(0.5).add_(0.1);
  Tensor log_alpha = trainee->model().scalar("log_temperature")->parameters().values();
  log_alpha.fill_(-0.7);
  Tensor log_switch_alpha = trainee->model().scalar("log_switch_temperature")->parameters().values();
  log_switch_alpha.fill_(-1.2);
  const TensorBatch batch = Sequences();
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
  const Tensor normal = draws.NormalLike(torch::empty({kSteps + 1, kRows, 2}, torch::kFloat64));
  const double alpha = std::exp(-0.7);
  const double switch_alpha = std::exp(-1.2);
  double critic_loss = 0, actor_loss = 0, log_prob = 0, switch_entropy = 0;
  int64_t learned = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    const int64_t steps = batch.at(kItemLength)[row].item<int64_t>() - 1;
    double next = 0;  // The next step's worth to the one before.
    for (int64_t t = steps; t >= 0; --t) {
      const Tensor observation = batch.at(kObservation)[row][t];
      const Tensor action = batch.at(kAction)[row][t];
      const Tensor before = t == 0 ? batch.at(TaacOptions::kRepeatedAction)[row][0] : batch.at(kAction)[row][t - 1];
      const Distribution policy = actor({observation.unsqueeze(0)}, before.unsqueeze(0)).policy();
      const Tensor proposed = (policy.mean()[0] + policy.stddev()[0] * normal[t][row]).tanh();
      const double own = policy.LogProb(proposed.unsqueeze(0))[0].item<double>();
      const auto probability = [&](double repeats, double proposes) {
        return 1 / (1 + std::exp((repeats - proposes) / switch_alpha));
      };
      const double repeats = Least(critic.target(), observation, before);
      const double proposes = Least(critic.target(), observation, proposed);
      const double p = probability(repeats, proposes);
      double worth = (1 - p) * repeats + p * proposes;
      if (t < steps) {
        const double discount = 0.9 * batch.at(kDiscount)[row][t].item<double>();
        const double target = batch.at(kReward)[row][t].item<double>() + discount * next;
        worth = torch::equal(action, before) ? (1 - p) * target + p * proposes : worth;
        const Tensor taken = critic({observation.unsqueeze(0)}, action.unsqueeze(0)).value();
        for (int64_t member = 0; member < 2; ++member) {
          critic_loss += 0.5 * std::pow(taken[member][0].item<double>() - target, 2);
        }
        const double now = Least(critic, observation, proposed);
        const double stays = Least(critic, observation, before);
        const double switches = probability(stays, now);
        actor_loss +=
            alpha * own - switch_alpha * std::log(std::exp(now / switch_alpha) + std::exp(stays / switch_alpha));
        log_prob += own;
        switch_entropy -= switches * std::log(switches) + (1 - switches) * std::log(1 - switches);
        ++learned;
      }
      next = worth;
    }
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(trainee.get(), batch, &stepper);
  const auto count = static_cast<double>(learned);
  CHECK(learned == 10);
  CHECK(Metric(result, "critic_loss") == Approx(critic_loss / count));
  CHECK(Metric(result, "actor_loss") == Approx(actor_loss / count));
  CHECK(Metric(result, "log_temperature_loss") == Approx(0.7 * (log_prob / count - 1.5)));
  CHECK(Metric(result, "log_switch_temperature_loss") == Approx(-1.2 * (switch_entropy / count - 0.4)));
}

TEST_CASE("TAAC's gradients are finite differences of its losses", "[unit]") {
  const auto trainee = TraineeOf("name: taac, n_step: 3", Environment());
  const Model& model = trainee->model();
  testing::CheckGradients(trainee.get(),
                          {model.net("actor").group(), model.net("critic").group(),
                           model.scalar("log_temperature")->group(), model.scalar("log_switch_temperature")->group()},
                          Sequences());
}

TEST_CASE("TAAC's policy repeats a slot's own action if the switch draws that, and none of the episode before",
          "[unit]") {
  const auto trainee = TraineeOf("name: taac, switch_temperature: 1e6", Environment(), torch::kFloat32);
  const EnvironmentSpec environment = Environment();
  ActingNets nets{environment, torch::kCPU, 40, {}};
  for (const char* const name : {"actor", "critic"}) {
    nets.nets.emplace(name, NetView(&trainee->model().net(name).network()));
  }
  nets.scalars.emplace("log_switch_temperature", torch::full({}, std::log(1e6), torch::kFloat32));
  const auto policy =
      testing::ValueOf(testing::ValueOf(BuiltinAlgorithms().Find("taac"))->new_policy(TaacOptions(), nets));
  const torch::NoGradGuard no_grad;
  Noise noise(3, torch::kCPU);
  const Observations observation = {torch::randn({20, 3})};
  const Tensor slots = torch::arange(39, 19, -1);
  const Tensor taken = torch::rand({20, 2});
  const Tensor none = torch::zeros({20}, torch::kBool);
  policy->NoteTaken({observation, slots, none, false, &noise}, taken);
  const Acted acted = policy->Act({observation, slots, none, false, &noise});
  CHECK(torch::equal(acted.columns.at(TaacOptions::kRepeatedAction), taken));
  const int64_t repeats = (acted.action == taken).all(1).sum().item<int64_t>();
  CHECK(repeats > 0);  // With a probability of a half.
  CHECK(repeats < 20);
  const Acted begins = policy->Act({observation, slots, none.logical_not(), false, &noise});
  CHECK(begins.columns.at(TaacOptions::kRepeatedAction).abs().max().item<double>() == 0);

  // Greedily the better action is taken, by the least critic.
  const Acted greedy = policy->Act({observation, slots, none, true, nullptr});
  const Tensor proposed = nets.net("actor")(observation, taken).policy().Mode();
  const auto value = [&](const Tensor& action) { return nets.net("critic")(observation, action).value().amin(0); };
  CHECK(torch::equal(greedy.action, torch::where((value(proposed) > value(taken)).unsqueeze(1), proposed, taken)));
}

}  // namespace
}  // namespace waggle
