#include <cmath>

#include "common/base/random.h"
#include "tests/support/agents/agent_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::RandomTransitions;
using testing::Updated;
using torch::Tensor;

constexpr int64_t kRows = 7;

EnvironmentSpec RealOf(int64_t features, int64_t elements) {
  return testing::EnvironmentOf(features, Box("action", DType::kFloat32, {elements}, -1, 1));
}

std::unique_ptr<AlgorithmTrainee> MaddpgOn(const EnvironmentSpec& environment, const std::string& options = "") {
  const std::string network = "{torso: [{type: mlp, units: [5], activation: tanh}]}";
  return testing::TraineeOn("{actor: " + network + ", critic: " + network + "}\nreplay: {sampler: {kind: prioritized}}",
                            "name: maddpg, discount: 0.9, target_update_rate: 0.1" + options, environment,
                            torch::kFloat64, 1);
}

double WeightOf(const TensorBatch& batch, int64_t row) {
  const Tensor& probability = batch.at(kItemProbability);
  return std::pow((probability.min() / probability[row]).item<double>(), 0.4);
}

TEST_CASE("MADDPG's losses of real actions are those of a loop, with critics of what all agents see and do", "[unit]") {
  const testing::AgentEnvironments agents = {{"a", RealOf(3, 2)}, {"b", RealOf(2, 1)}};
  const TensorBatch a = RandomTransitions(agents.at("a"), kRows, 3);
  const TensorBatch b = RandomTransitions(agents.at("b"), kRows, 4);
  const auto maddpg = MaddpgOn(testing::Together(agents), ", action_penalty: 0.3");
  testing::MoveTargets(maddpg.get());
  const auto net = [&](const char* name) -> const Net& { return maddpg->model().net(name); };
  double critic_loss = 0;
  double actor_loss = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    const auto at = [row](const TensorBatch& batch, const char* field) { return batch.at(field).narrow(0, row, 1); };
    double target = b.at(kReward)[row][0].item<double>();
    if (row % 3 != 0) {
      const Tensor next_a = at(a, "next_observation");
      const Tensor next_b = at(b, "next_observation");
      const Tensor actions = torch::cat(
          {net("actor_b").target()({next_b}).action()[0], net("actor_a").target()({next_a}).action()[0]}, -1);
      target += 0.9 * net("critic_b").target()({next_b, next_a}, {}, {actions}).value().item<double>();
    }
    const Observations now = {at(b, kObservation), at(a, kObservation)};
    const auto value = [&](const Tensor& own) {
      return net("critic_b")(now, {}, {torch::cat({own, at(a, kAction)}, -1)}).value().item<double>();
    };
    const double weight = WeightOf(a, row);
    critic_loss += weight * std::pow(value(at(b, kAction)) - target, 2) / kRows;
    const Tensor own = net("actor_b")({now[0]}).action()[0];
    actor_loss += weight * (0.3 * own.square().sum().item<double>() - value(own)) / kRows;
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(maddpg.get(), testing::TogetherBatch({{"a", a}, {"b", b}}), &stepper);
  CHECK(Metric(result, "critic_b_loss") == Approx(critic_loss));
  CHECK(Metric(result, "actor_b_loss") == Approx(actor_loss));
}

TEST_CASE("MADDPG's choices are drawn by Gumbel's trick, and actors learn through a softmax of the same logits",
          "[unit]") {
  const EnvironmentSpec choice = testing::EnvironmentOf(3, Discrete("action", 4));
  const testing::AgentEnvironments agents = {{"a", choice}, {"b", choice}};
  const TensorBatch a = RandomTransitions(choice, kRows, 3);
  const TensorBatch b = RandomTransitions(choice, kRows, 4);
  const auto maddpg = MaddpgOn(testing::Together(agents), ", temperature: 0.5, action_penalty: 0");
  testing::MoveTargets(maddpg.get());
  const auto net = [&](const char* name) -> const Net& { return maddpg->model().net(name); };
  // The trainee's own random numbers, in their order.
  Noise noise(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
  const auto gumbel = [&] { return -(-noise.UniformLike(torch::empty({kRows, 4}, torch::kFloat64)).log()).log(); };
  const auto logits = [](const Output& actor) { return actor.policy().LogProbabilities()[0]; };
  const auto one_hot = [](const Tensor& choices) { return torch::one_hot(choices, 4).to(torch::kFloat64); };
  const Tensor next_a = logits(net("actor_a").target()({a.at("next_observation")})) + gumbel();
  const Tensor next_b = logits(net("actor_b").target()({b.at("next_observation")})) + gumbel();
  const Tensor relaxed = ((logits(net("actor_a")({a.at(kObservation)})) + gumbel()) / 0.5).softmax(-1);
  double critic_loss = 0;
  double actor_loss = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    const auto at = [row](const Tensor& all) { return all.narrow(0, row, 1); };
    double target = a.at(kReward)[row][0].item<double>();
    if (row % 3 != 0) {
      const Tensor actions = torch::cat({one_hot(at(next_a).argmax(-1)), one_hot(at(next_b).argmax(-1))}, -1);
      const Observations next = {at(a.at("next_observation")), at(b.at("next_observation"))};
      target += 0.9 * net("critic_a").target()(next, {}, {actions}).value().item<double>();
    }
    const Observations now = {at(a.at(kObservation)), at(b.at(kObservation))};
    const auto value = [&](const Tensor& own) {
      return net("critic_a")(now, {}, {torch::cat({own, one_hot(at(b.at(kAction)))}, -1)}).value().item<double>();
    };
    critic_loss += WeightOf(a, row) * std::pow(value(one_hot(at(a.at(kAction)))) - target, 2) / kRows;
    actor_loss -= WeightOf(a, row) * value(at(relaxed)) / kRows;
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(maddpg.get(), testing::TogetherBatch({{"a", a}, {"b", b}}), &stepper);
  CHECK(Metric(result, "critic_a_loss") == Approx(critic_loss));
  CHECK(Metric(result, "actor_a_loss") == Approx(actor_loss));
}

TEST_CASE("MADDPG's gradients are those of its losses, and its targets follow", "[unit]") {
  const EnvironmentSpec choice = testing::EnvironmentOf(3, Discrete("action", 4));
  for (const testing::AgentEnvironments& agents :
       {testing::AgentEnvironments{{"a", choice}, {"b", choice}}, {{"a", RealOf(3, 2)}, {"b", RealOf(2, 1)}}}) {
    const TensorBatch batch = testing::TogetherBatch(
        {{"a", RandomTransitions(agents.at("a"), kRows, 3)}, {"b", RandomTransitions(agents.at("b"), kRows, 4)}});
    const auto maddpg = MaddpgOn(testing::Together(agents));
    testing::CheckGradients(maddpg.get(), maddpg->groups(), batch);
    for (const char* const network : {"actor_a", "critic_a", "actor_b", "critic_b"}) {
      testing::CheckTargetFollows(maddpg.get(), network, batch, 0.1);
    }
  }
}

TEST_CASE("each of an agent's policies in MADDPG learns from the rows in which it acted", "[unit]") {
  const testing::AgentEnvironments agents = {{"a", RealOf(3, 2)}, {"b", RealOf(2, 1)}};
  TensorBatch batch = testing::TogetherBatch(
      {{"a", RandomTransitions(agents.at("a"), kRows, 3)}, {"b", RandomTransitions(agents.at("b"), kRows, 4)}});
  batch.fields["a/policy"] = torch::full({kRows}, 1.0, torch::kFloat64);
  batch.fields["b/policy"] = torch::tensor({0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0}, torch::kFloat64);
  const auto maddpg = MaddpgOn(testing::Together(agents), ", policies: 3");
  CaptureStepper stepper;
  Updated(maddpg.get(), batch, &stepper);
  const auto learns = [&](const char* network, int64_t policy) {
    const Net& net = maddpg->model().net(network);
    int64_t begin = 0;
    for (const ArraySpec& parameter : net.network().plan().parameters) {
      const int64_t each = parameter.NumElements() / 3;
      const Tensor gradient = stepper.gradients().at(network).narrow(0, begin + policy * each, each);
      if (gradient.abs().max().item<double>() > 0) {
        return true;
      }
      begin += parameter.NumElements();
    }
    return false;
  };
  for (int64_t policy = 0; policy < 3; ++policy) {
    CHECK(learns("actor_a", policy) == (policy == 1));
    CHECK(learns("actor_b", policy));
  }
}

TEST_CASE("a critic of MADDPG sees the agents that critics names, and no other", "[unit]") {
  const testing::AgentEnvironments agents = {{"a", RealOf(3, 2)}, {"b", RealOf(2, 1)}, {"c", RealOf(2, 1)}};
  std::map<std::string, TensorBatch> batches;
  for (const auto& [agent, environment] : agents) {
    batches[agent] = RandomTransitions(environment, kRows, 3 + batches.size());
  }
  const auto loss = [&](const char* critic) {
    const auto maddpg = MaddpgOn(testing::Together(agents), ", critics: {a: {sees: [c]}, b: {sees: []}}");
    CaptureStepper stepper;
    return Metric(Updated(maddpg.get(), testing::TogetherBatch(batches), &stepper), critic);
  };
  const std::map<std::string, double> before = {{"critic_a_loss", loss("critic_a_loss")},
                                                {"critic_b_loss", loss("critic_b_loss")},
                                                {"critic_c_loss", loss("critic_c_loss")}};
  batches.at("b").fields[kObservation] = batches.at("b").at(kObservation) + 1;
  CHECK(loss("critic_a_loss") == before.at("critic_a_loss"));
  CHECK(loss("critic_b_loss") != before.at("critic_b_loss"));
  CHECK(loss("critic_c_loss") != before.at("critic_c_loss"));
  const double of_b = loss("critic_b_loss");
  batches.at("c").fields[kAction] = batches.at("c").at(kAction) * 0.5;
  CHECK(loss("critic_a_loss") != before.at("critic_a_loss"));
  CHECK(loss("critic_b_loss") == of_b);
}

}  // namespace
}  // namespace waggle
