#include "common/config/spec/agent_view.h"

#include "common/config/spec/joint_action.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Names = std::vector<std::string>;

// Three agents, the second with a mask, a camera that belongs to no agent, and a referee without actions.
EnvironmentSpec Game() {
  EnvironmentSpec environment;
  environment.name = "game";
  environment.observations = {
      Box("a/observation", DType::kFloat32, {2}),     Box("observation/camera", DType::kFloat32, {4}),
      Box("b/observation/eye", DType::kFloat32, {3}), MultiBinary("b/action_mask/hand", {2}),
      Box("c/observation", DType::kFloat32, {2}),     Box("referee/observation", DType::kFloat32, {1})};
  environment.actions = {Discrete("a/action", 3), Discrete("b/action/hand", 2),
                         Box("b/action/foot", DType::kFloat32, {}), Discrete("c/action", 3)};
  environment.rewards = {ArraySpec{"a/reward", DType::kFloat32, {}}, ArraySpec{"b/reward", DType::kFloat32, {}},
                         ArraySpec{"c/reward", DType::kFloat32, {}}};
  return environment;
}

Names NamesOf(const std::vector<SpaceLeaf>& leaves) {
  Names names;
  for (const SpaceLeaf& leaf : leaves) {
    names.push_back(leaf.array.name);
  }
  return names;
}

TEST_CASE("an agent's view has its own leaves without its name", "[unit]") {
  REQUIRE_OK(Game().Validate());
  const AgentView view = ViewOf(Game(), "b");
  REQUIRE_OK(view.spec.Validate());
  CHECK(NamesOf(view.spec.observations) == Names{"observation/eye", "action_mask/hand"});
  CHECK(NamesOf(view.spec.actions) == Names{"action/hand", "action/foot"});
  REQUIRE(view.spec.rewards.size() == 1);
  CHECK(view.spec.rewards[0].name == "reward");
  CHECK(view.leaves == std::vector<size_t>{2, 3});
  CHECK(AgentsOf(view.spec) == Names{""});
  CHECK(JointActionOf(view.spec).parts[0].mask == 1);
}

TEST_CASE("a view's others follow in their order, without masks, and observations of no agent get one", "[unit]") {
  CHECK(OthersOf(Game(), "b") == Names{"c", "a", "", "referee"});
  CHECK(OthersOf(Game(), "c") == Names{"a", "b", "", "referee"});
  const AgentView view = ViewOf(Game(), "c", OthersOf(Game(), "c"));
  REQUIRE_OK(view.spec.Validate());
  CHECK(NamesOf(view.spec.observations) ==
        Names{"observation", "a/observation", "b/observation/eye", "shared/observation/camera", "referee/observation"});
  CHECK(view.leaves == std::vector<size_t>{4, 0, 2, 1, 5});
}

TEST_CASE("an environment whose agents are not told apart is its own view", "[unit]") {
  EnvironmentSpec environment;
  environment.name = "one";
  environment.observations = {Box("observation", DType::kFloat32, {2}), Box("rival/observation", DType::kFloat32, {2})};
  environment.actions = {Discrete("action", 3)};
  CHECK(OthersOf(environment, "").empty());
  CHECK(ViewOf(environment, "").spec == environment);
  CHECK(ViewOf(environment, "").leaves == std::vector<size_t>{0, 1});
}

TEST_CASE("the others in the views of several agents are in the same places after each", "[unit]") {
  const std::vector<AgentView> views = ViewsOf(Game(), {"a", "c"}, {"b", "c"});
  REQUIRE(views.size() == 2);
  CHECK(NamesOf(views[0].spec.observations) == Names{"observation", "b/observation/eye", "c/observation"});
  CHECK(NamesOf(views[1].spec.observations) == Names{"observation", "a/observation", "b/observation/eye"});
}

TEST_CASE("agents that share are one group, and others a group each", "[unit]") {
  EnvironmentSpec alike = Game();
  CHECK(testing::ValueOf(AgentGroups(alike, false)).size() == 3);
  CHECK(testing::ValueOf(AgentGroups(alike, false))[1].NetworkName("actor") == "actor_b");
  CHECK_THAT(std::string(AgentGroups(alike, true).status().message()),
             Catch::StartsWith("algorithm.share: got true, and the spaces of a and b differ: "));
  alike.observations = {alike.observations[0], alike.observations[4]};
  alike.actions = {alike.actions[0], alike.actions[3]};
  alike.rewards = {alike.rewards[0], alike.rewards[2]};
  const std::vector<AgentGroup> shared = testing::ValueOf(AgentGroups(alike, true));
  REQUIRE(shared.size() == 1);
  CHECK(shared[0].agents == Names{"a", "c"});
  CHECK(shared[0].NetworkName("actor") == "actor");
}

}  // namespace
}  // namespace waggle
