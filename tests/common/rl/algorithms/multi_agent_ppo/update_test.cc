#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "tests/support/agents/agent_checks.h"
#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::RandomUnrolls;
using testing::Updated;
using torch::Tensor;

constexpr char kNetwork[] = "{torso: [{type: mlp, units: [5], activation: tanh}], heads: {value: {shares: nothing}}}";
constexpr char kOptions[] =
    "unroll: 5, epochs: 2, minibatches: 1, discount: 0.9, lambda: 0.7, clip: 0.3, entropy: {weight: 0.02}";

EnvironmentSpec Choice() {
  return testing::EnvironmentOf(3, Discrete("action", 4));
}

EnvironmentSpec Real() {
  return testing::EnvironmentOf(2, Box("action", DType::kFloat32, {2}, -1, 1));
}

// The same episodes, acted by agents with these environments.
TensorBatch Unrolls(const testing::AgentEnvironments& agents) {
  std::map<std::string, TensorBatch> batches;
  for (const auto& [agent, environment] : agents) {
    batches[agent] = RandomUnrolls(environment, 3 + batches.size());
  }
  return testing::TogetherBatch(batches);
}

std::unique_ptr<AlgorithmTrainee> AlgorithmOn(const std::string& algorithm, const EnvironmentSpec& environment) {
  return testing::TraineeOn(std::string("{actor_critic: ") + kNetwork + "}", algorithm + ", " + kOptions, environment,
                            torch::kFloat64, 1);
}

// All losses of one network, in order.
std::vector<double> LossesOf(const UpdateResult& result, const std::string& network) {
  std::vector<double> losses;
  for (const auto& [name, value] : result.metrics) {
    if (name == network + "_loss") {
      losses.push_back(value.item<double>());
    }
  }
  return losses;
}

void CheckLikePpo(AlgorithmTrainee* several, const UpdateResult& result, const std::string& network,
                  const EnvironmentSpec& environment, const Tensor& before, const TensorBatch& batch) {
  INFO(network);
  const auto ppo = AlgorithmOn("name: ppo", environment);
  Tensor values = ppo->model().net("actor_critic").group()->values();
  values.copy_(before);
  LocalStepper stepper;
  const std::vector<double> expected = LossesOf(Updated(ppo.get(), batch, &stepper), "actor_critic");
  const std::vector<double> losses = LossesOf(result, network);
  REQUIRE(expected.size() == 2);
  REQUIRE(losses.size() == 2);
  CHECK(losses[0] == Approx(expected[0]));
  CHECK(losses[1] == Approx(expected[1]));
  CHECK(torch::allclose(several->model().net(network).group()->values(), values, 1e-9, 1e-9));
}

TEST_CASE("each agent's steps in IPPO are those of PPO in an environment of its own", "[unit]") {
  const testing::AgentEnvironments agents = {{"a", Choice()}, {"b", Real()}};
  const auto ippo = AlgorithmOn("name: ippo", testing::Together(agents));
  std::map<std::string, Tensor> before;
  for (const auto& [agent, environment] : agents) {
    before[agent] = ippo->model().net("actor_critic_" + agent).group()->values().clone();
  }
  LocalStepper stepper;
  const UpdateResult result = Updated(ippo.get(), Unrolls(agents), &stepper);
  CheckLikePpo(ippo.get(), result, "actor_critic_a", Choice(), before.at("a"), RandomUnrolls(Choice(), 3));
  CheckLikePpo(ippo.get(), result, "actor_critic_b", Real(), before.at("b"), RandomUnrolls(Real(), 4));
}

TEST_CASE("agents that share a network in IPPO learn as PPO does from the steps of all", "[unit]") {
  const testing::AgentEnvironments agents = {{"a", Choice()}, {"b", Choice()}};
  const auto ippo = AlgorithmOn("name: ippo, share: true", testing::Together(agents));
  const Tensor before = ippo->model().net("actor_critic").group()->values().clone();
  LocalStepper stepper;
  const UpdateResult result = Updated(ippo.get(), Unrolls(agents), &stepper);
  TensorBatch all = RandomUnrolls(Choice(), 3);
  for (auto& [name, field] : all.fields) {
    const TensorBatch b = RandomUnrolls(Choice(), 4);
    const bool is_own = name == kObservation || name == kAction || name == kReward || name == "log_prob";
    field = torch::cat({field, is_own ? b.at(name) : field});
  }
  all.size *= 2;
  CheckLikePpo(ippo.get(), result, "actor_critic", Choice(), before, all);
}

// The losses of an agent's actor and critic by definition, with a clip of 0.3, value_weight 0.5 and an entropy weight
// of 0.02. `own` is its batch, and `seen` the observations that its critic takes.
struct Losses {
  double actor = 0;
  double critic = 0;
};
Losses LossesOf(const Net& actor, const Net& critic, const TensorBatch& own, const Observations& seen) {
  const torch::NoGradGuard no_grad;
  Losses losses;
  double steps = 0;
  const auto value = [&](int64_t row, int64_t t) {
    Observations one;
    for (const Tensor& leaf : seen) {
      one.push_back(leaf[row][t].unsqueeze(0));
    }
    return critic(one).value().item<double>();
  };
  const auto is_last = [&](int64_t row, int64_t t) { return own.at(kStepType)[row][t].item<int32_t>() == 2; };
  for (int64_t row = 0; row < own.size; ++row) {
    for (int64_t t = 0; t < 5; ++t) {
      if (is_last(row, t)) {
        continue;
      }
      double advantage = 0;
      double weight = 1;
      for (int64_t k = t; k < 5 && !is_last(row, k) && weight != 0; ++k) {
        const double next = 0.9 * own.at(kDiscount)[row][k].item<double>();
        advantage += weight * (own.at(kReward)[row][k].item<double>() + next * value(row, k + 1) - value(row, k));
        weight *= next * 0.7;
      }
      const Distribution policy = actor({own.at(kObservation)[row][t].unsqueeze(0)}).policy();
      const double log_prob = policy.LogProb(own.at(kAction)[row][t].unsqueeze(0)).item<double>();
      const double ratio = std::exp(log_prob - own.at("log_prob")[row][t].item<double>());
      losses.actor -=
          std::min(ratio * advantage, std::clamp(ratio, 0.7, 1.3) * advantage) + 0.02 * policy.Entropy().item<double>();
      losses.critic += 0.5 * advantage * advantage;
      steps += 1;
    }
  }
  return {losses.actor / steps, losses.critic / steps};
}

TEST_CASE("MAPPO's losses are those of a loop, with values of what all agents see", "[unit]") {
  const testing::AgentEnvironments agents = {{"a", Choice()}, {"b", Real()}};
  EnvironmentSpec environment = testing::Together(agents);
  environment.observations.push_back(Box("observation/state", DType::kFloat32, {2}));
  TensorBatch batch = Unrolls(agents);
  batch.fields["observation/state"] = torch::randn({4, 6, 2}, torch::kFloat64);
  for (const bool team : {false, true}) {
    const auto mappo = testing::TraineeOn(
        "{actor: {torso: [{type: mlp, units: [5], activation: tanh}]}, critic: {torso: [{type: mlp, units: [5], "
        "activation: tanh}]}}",
        std::string("name: mappo, normalize_returns: false, normalize_advantages: false, team_reward: ") +
            (team ? "true, " : "false, ") + kOptions,
        environment, torch::kFloat64, 1);
    const auto net = [&](const char* name) -> const Net& { return mappo->model().net(name); };
    CaptureStepper stepper;
    const UpdateResult result = Updated(mappo.get(), batch, &stepper);
    TensorBatch a = RandomUnrolls(Choice(), 3);
    TensorBatch b = RandomUnrolls(Real(), 4);
    if (team) {
      const Tensor mean = (a.at(kReward) + b.at(kReward)) / 2;
      a.fields[kReward] = b.fields[kReward] = mean;
    }
    const Tensor& state = batch.at("observation/state");
    const Losses of_a = LossesOf(net("actor_a"), net("critic_a"), a, {a.at(kObservation), b.at(kObservation), state});
    const Losses of_b = LossesOf(net("actor_b"), net("critic_b"), b, {b.at(kObservation), a.at(kObservation), state});
    CHECK(LossesOf(result, "actor_a")[0] == Approx(of_a.actor));
    CHECK(LossesOf(result, "critic_a")[0] == Approx(of_a.critic));
    CHECK(LossesOf(result, "actor_b")[0] == Approx(of_b.actor));
    CHECK(LossesOf(result, "critic_b")[0] == Approx(of_b.critic));
  }
}

TEST_CASE("agents that share networks share the statistics of their observations", "[unit]") {
  const testing::AgentEnvironments agents = {{"a", Choice()}, {"b", Choice()}};
  const auto ippo = testing::TraineeOn("{actor_critic: {normalize_observations: true}}",
                                       std::string("name: ippo, share: true, ") + kOptions, testing::Together(agents),
                                       torch::kFloat64, 1);
  LocalStepper stepper;
  const TensorBatch batch = Unrolls(agents);
  Updated(ippo.get(), batch, &stepper);
  const Network& network = ippo->model().net("actor_critic").network();
  const Tensor mean = network.parameters().value_views()[static_cast<size_t>(network.plan().normalizers[0].mean)];
  const Tensor rows = torch::cat({batch.at("a/observation"), batch.at("b/observation")}).flatten(0, 1);
  CHECK(torch::allclose(mean, rows.mean(0), 1e-6, 1e-6));
}

}  // namespace
}  // namespace waggle
