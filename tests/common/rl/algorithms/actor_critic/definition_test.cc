#include "common/rl/algorithms/actor_critic/definition.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/config/config_reader.h"
#include "common/config/yaml_file.h"
#include "common/experiment/family_defaults.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

std::string Problems(const std::string& text, ActorCriticOptions* options) {
  const YamlNode root = testing::ValueOf(ParseYaml("algorithm: " + text, "x.yaml"));
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  reader.Section("algorithm", options);
  reader.Finish();
  return std::string(errors.ToStatus().message());
}

TEST_CASE("an actor-critic's options are read, and their ranges hold", "[unit]") {
  ActorCriticOptions options;
  CHECK(Problems("{unroll: 5, discount: 0.9, lambda: 1, value_weight: 0.25, normalize_returns: false, "
                 "normalize_advantages: false, entropy: {weight: 0.02}, optimizer: {learning_rate: 0.1}}",
                 &options)
            .empty());
  CHECK(options.unroll == 5);
  CHECK(options.discount == 0.9);
  CHECK(options.lambda == 1);
  CHECK(options.value_weight == 0.25);
  CHECK_FALSE(options.normalize_returns);
  CHECK_FALSE(options.normalize_advantages);
  CHECK(options.entropy.weight == Schedule(0.02));
  CHECK(options.optimizer.learning_rate == Schedule(0.1));
  for (const char* const wrong : {"{unroll: 0}", "{discount: 1.1}", "{lambda: -0.1}", "{value_weight: -1}"}) {
    CHECK_FALSE(Problems(wrong, &options).empty());
  }
}

AlgorithmPlan PlanFor(std::vector<SpaceLeaf> actions, const ActorCriticOptions& options, bool actors_wait = true) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.actions = std::move(actions);
  const std::map<std::string, NetworkSpec> networks;
  return testing::ValueOf(
      ActorCriticPlan(options, PlanContext{environment, networks, OnPolicyReplay(), {}}, {"log_prob"}, actors_wait));
}

TEST_CASE("an actor-critic is one network that acts, with a policy of the action's kind and a value", "[unit]") {
  ActorCriticOptions options;
  options.optimizer.learning_rate = 0.125;
  const auto policy_of = [&options](std::vector<SpaceLeaf> actions) {
    const AlgorithmPlan plan = PlanFor(std::move(actions), options);
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
  CHECK(policy_of({Discrete("action", 4)}) == HeadKind::kCategorical);
  CHECK(policy_of({MultiDiscrete("action", {2, 3})}) == HeadKind::kCategorical);
  CHECK(policy_of({MultiBinary("action", {2})}) == HeadKind::kCategorical);
  CHECK(policy_of({Box("action", DType::kFloat32, {2}, -1, 1)}) == HeadKind::kNormal);
  CHECK(policy_of({Discrete("action/gear", 4), Box("action/steer", DType::kFloat32, {1})}) == HeadKind::kMixed);
}

TEST_CASE("an actor-critic's actors act its unrolls by one version of the weights if they wait", "[unit]") {
  ActorCriticOptions options;
  options.unroll = 5;
  for (const bool wait : {true, false}) {
    const AlgorithmPlan plan = PlanFor({Discrete("action", 4)}, options, wait);
    CHECK(plan.rows_per_version == (wait ? std::optional<int64_t>(5) : std::nullopt));
    CHECK(plan.columns == std::vector<std::string>{"log_prob"});
    REQUIRE(plan.tables.size() == 1);
    CHECK(plan.tables[0].window.length == 6);
    CHECK(plan.tables[0].window.period == (wait ? 6 : 5));
    CHECK(plan.tables[0].table.signature.back().name == "log_prob");
  }
}

TEST_CASE("the weight of an actor-critic's entropy is a scalar where the entropy has a target", "[unit]") {
  ActorCriticOptions options;
  options.entropy.weight = 0.5;
  options.entropy.target = 1;
  const AlgorithmPlan plan = PlanFor({Discrete("action", 4)}, options);
  REQUIRE(plan.scalars.size() == 1);
  CHECK(plan.scalars[0].name == "log_entropy_weight");
  CHECK(plan.scalars[0].initial == Approx(std::log(0.5)));
}

TEST_CASE("an actor-critic begins close to uniform, and its heads share nothing", "[unit]") {
  const NetworkSpec network = ActorCriticNetwork({7, 5});
  REQUIRE(network.torso.size() == 1);
  CHECK(network.torso[0].units == std::vector<int64_t>{7, 5});
  CHECK(network.torso[0].activation == "tanh");
  CHECK(network.torso[0].initialization == "orthogonal");
  REQUIRE(network.heads.size() == 2);
  CHECK(network.heads.at("policy").gain == 0.01);
  CHECK(network.heads.at("value").gain == 1);
  for (const auto& [name, head] : network.heads) {
    CHECK(head.initialization == "orthogonal");
  }
  // What one shares with no other, neither shares.
  CHECK(network.heads.at("value").shares == "nothing");
}

TEST_CASE("an actor-critic learns from nothing that older weights acted", "[unit]") {
  Experiment experiment;
  ActorCriticDefaults(&experiment);
  CHECK(experiment.learner.max_policy_lag == 0);
  CHECK(experiment.networks.count("actor_critic") == 1);
}

}  // namespace
}  // namespace waggle
