#include "common/plan/actor_critic_plan.h"

#include <cmath>

#include "common/spec/space_leaf.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

AlgorithmPlan PlanFor(SpaceLeaf action, const EntropyOptions& entropy = {}) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.actions = {std::move(action)};
  OptimizerOptions optimizer;
  optimizer.learning_rate = 0.125;
  return ActorCriticPlan(environment, entropy, optimizer, /*normalizes_returns=*/true);
}

TEST_CASE("an actor-critic is one network that acts, with a policy of the action's kind and a value", "[unit]") {
  const auto policy_of = [](SpaceLeaf action) {
    const AlgorithmPlan plan = PlanFor(std::move(action));
    REQUIRE(plan.networks.size() == 1);
    const NetworkNeed& net = plan.networks[0];
    CHECK(net.name == "actor_critic");
    CHECK(net.acts);
    CHECK_FALSE(net.has_target);
    CHECK(plan.normalizes_returns);
    CHECK(net.optimizer.learning_rate == Schedule(0.125));
    REQUIRE(net.heads.size() == 2);
    CHECK(net.heads.at("value") == HeadKind::kValue);
    CHECK(plan.scalars.empty());
    CHECK(plan.exploration.type == "none");
    return net.heads.at("policy");
  };
  CHECK(policy_of(Discrete("action", 4)) == HeadKind::kCategorical);
  CHECK(policy_of(MultiDiscrete("action", {2, 3})) == HeadKind::kCategorical);
  CHECK(policy_of(MultiBinary("action", {2})) == HeadKind::kCategorical);
  CHECK(policy_of(Box("action", DType::kFloat32, {2}, -1, 1)) == HeadKind::kNormal);
  EnvironmentSpec environment;
  environment.actions = {Discrete("action/gear", 4), Box("action/steer", DType::kFloat32, {1})};
  CHECK(ActorCriticPlan(environment, {}, {}, /*normalizes_returns=*/false).networks[0].heads.at("policy") ==
        HeadKind::kMixed);
}

TEST_CASE("the weight of an actor-critic's entropy is a scalar where the entropy has a target", "[unit]") {
  EntropyOptions entropy;
  entropy.weight = 0.5;
  entropy.target = 1;
  const AlgorithmPlan plan = PlanFor(Discrete("action", 4), entropy);
  REQUIRE(plan.scalars.size() == 1);
  CHECK(plan.scalars[0].name == "log_entropy_weight");
  CHECK(plan.scalars[0].initial == Approx(std::log(0.5)));
}

}  // namespace
}  // namespace waggle
