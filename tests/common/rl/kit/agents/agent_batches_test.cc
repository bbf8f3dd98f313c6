#include "common/rl/kit/agents/agent_batches.h"

#include "common/config/spec/agent_view.h"
#include "tests/support/agents/agent_checks.h"

namespace waggle {
namespace {

using testing::EnvironmentOf;
using testing::RandomTransitions;

EnvironmentSpec Choice() {
  return EnvironmentOf(3, Discrete("action", 4));
}

struct Two {
  EnvironmentSpec environment = testing::Together({{"a", Choice()}, {"b", Choice()}});
  TensorBatch a = RandomTransitions(Choice(), 5, 1);
  TensorBatch b = RandomTransitions(Choice(), 5, 2);
  TensorBatch both = testing::TogetherBatch({{"a", a}, {"b", b}});
};

TEST_CASE("an agent's batch is that of an environment of its own", "[unit]") {
  const Two two;
  const AgentBatches batches(two.environment, {"b"}, {}, {}, /*team_reward=*/false);
  CHECK(batches.view().DebugString() == ViewOf(two.environment, "b").spec.DebugString());
  const TensorBatch seen = batches.Of(two.both);
  CHECK(seen.size == 5);
  CHECK(seen.fields.size() == two.b.fields.size());
  const Transitions t = TransitionsOf(batches.InView(seen), 0.9);
  CHECK(torch::equal(t.observation[0], two.b.at(kObservation)));
  CHECK(torch::equal(t.next_observation[0], two.b.at("next_observation")));
  CHECK(torch::equal(t.action, two.b.at(kAction)));
  CHECK(torch::equal(t.n_step_return, two.b.at(kReward).select(1, 0)));
}

TEST_CASE("the batch of several agents has the rows of each, with the others in the same places after it", "[unit]") {
  const Two two;
  const AgentBatches batches(two.environment, {"a", "b"}, OthersOf(two.environment, "a"), {}, /*team_reward=*/false);
  const TensorBatch seen = batches.Of(two.both);
  CHECK(seen.size == 10);
  CHECK(torch::equal(seen.at(kItemProbability), two.a.at(kItemProbability).repeat({2})));
  const Transitions t = TransitionsOf(batches.InView(seen), 0.9);
  REQUIRE(t.observation.size() == 2);
  CHECK(torch::equal(t.observation[0], torch::cat({two.a.at(kObservation), two.b.at(kObservation)})));
  CHECK(torch::equal(t.observation[1], torch::cat({two.b.at(kObservation), two.a.at(kObservation)})));
  CHECK(torch::equal(t.action, torch::cat({two.a.at(kAction), two.b.at(kAction)})));
}

TEST_CASE("a team's reward is the mean of all agents', and columns lose the agent's name", "[unit]") {
  Two two;
  two.both.fields["a/log_prob"] = torch::ones({5});
  two.both.fields["b/log_prob"] = torch::zeros({5});
  const AgentBatches batches(two.environment, {"a", "b"}, {}, {"log_prob"}, /*team_reward=*/true);
  const TensorBatch seen = batches.Of(two.both);
  const torch::Tensor mean = (two.a.at(kReward) + two.b.at(kReward)) / 2;
  CHECK(torch::allclose(seen.at(kReward), torch::cat({mean, mean})));
  CHECK(torch::equal(seen.at("log_prob"), torch::cat({torch::ones({5}), torch::zeros({5})})));
  CHECK(seen.fields.count("a/log_prob") == 0);
}

}  // namespace
}  // namespace waggle
