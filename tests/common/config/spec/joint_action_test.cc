#include "common/config/spec/joint_action.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

EnvironmentSpec With(std::vector<SpaceLeaf> actions, std::vector<SpaceLeaf> masks = {}) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {2})};
  environment.observations.insert(environment.observations.end(), masks.begin(), masks.end());
  environment.actions = std::move(actions);
  REQUIRE_OK(environment.Validate());
  return environment;
}

TEST_CASE("a single action is the joint one", "[unit]") {
  const JointAction discrete = JointActionOf(With({Discrete("action", 3)}, {MultiBinary("action_mask", {3})}));
  CHECK(discrete.is_scalar);
  CHECK(discrete.num_values == std::vector<int64_t>{3});
  CHECK(discrete.num_reals == 0);
  CHECK(discrete.SideBySide() == 0);
  CHECK(discrete.Name() == "discrete");
  REQUIRE(discrete.parts.size() == 1);
  CHECK(discrete.parts[0].mask == 1);
  const JointAction several = JointActionOf(With({MultiDiscrete("action", {3})}));
  CHECK_FALSE(several.is_scalar);
  CHECK(several.num_values == std::vector<int64_t>{3});
  CHECK(several.parts[0].mask == -1);
  CHECK(several.Name() == "multi-discrete");
  const JointAction real = JointActionOf(With({Box("action", DType::kFloat32, {2, 3})}));
  CHECK(real.num_reals == 6);
  CHECK(real.num_values.empty());
  CHECK(real.TotalChoices() == 0);
  CHECK(real.Name() == "box");
}

TEST_CASE("choices stand before real numbers, both in the order of their leaves", "[unit]") {
  const JointAction joint = JointActionOf(
      With({Box("action/turn", DType::kFloat32, {}), MultiDiscrete("action/move", {4, 5}),
            Box("action/arm", DType::kFloat32, {2, 2}), MultiBinary("action/press", {3}), Discrete("action/gear", 6)},
           {MultiBinary("action_mask/gear", {6}), MultiBinary("action_mask/move", {9})}));
  struct Expected {
    size_t leaf;
    int64_t first, elements, choices, mask;
  };
  const std::vector<Expected> expected = {
      {1, 0, 2, 9, 2}, {3, 2, 3, 6, -1}, {4, 5, 1, 6, 1}, {0, 6, 1, 0, -1}, {2, 7, 4, 0, -1}};
  REQUIRE(joint.parts.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    INFO("part " << i);
    CHECK(joint.parts[i].leaf == expected[i].leaf);
    CHECK(joint.parts[i].first == expected[i].first);
    CHECK(joint.parts[i].elements == expected[i].elements);
    CHECK(joint.parts[i].choices == expected[i].choices);
    CHECK(joint.parts[i].mask == expected[i].mask);
  }
  CHECK(joint.num_values == std::vector<int64_t>{4, 5, 2, 2, 2, 6});
  CHECK(joint.num_reals == 5);
  CHECK(joint.TotalChoices() == 21);
  CHECK(joint.SideBySide() == 36);
  CHECK_FALSE(joint.is_scalar);
  CHECK(joint.Name() == "mixed");
}

TEST_CASE("too many choices are refused before memory is taken for them", "[unit]") {
  const auto message = [](std::vector<SpaceLeaf> actions) {
    return std::string(CheckJointAction(With(std::move(actions))).message());
  };
  CHECK(message({MultiBinary("action/a", {kMaxChoosing - 1}), Discrete("action/b", kMaxNumValues)}).empty());
  CHECK(message({MultiBinary("action/a", {kMaxChoosing}), Discrete("action/b", 2)}) ==
        "action/b: with it there are 65537 choices to make at once; wanted at most 65536");
  CHECK(message({MultiBinary("action", {int64_t{1} << 38})}) ==
        "action: with it there are 274877906944 choices to make at once; wanted at most 65536");
  const SpaceLeaf real = Box("action/turn", DType::kFloat32, {});
  CHECK(message({Discrete("action/gear", kMaxChoicesBesideReals), real}).empty());
  CHECK(message({Discrete("action/gear", kMaxChoicesBesideReals + 1), real}) ==
        "action/gear: 16777217 choices beside real actions; wanted at most 16777216");
}

TEST_CASE("a single action of the joint form is its own leaf", "[unit]") {
  const auto leaf = [](std::vector<SpaceLeaf> actions) {
    return testing::ValueOf(AsOneLeaf(With(std::move(actions)))).DebugString();
  };
  CHECK(leaf({Discrete("action/gear", 3)}) == Discrete("action/gear", 3).DebugString());
  CHECK(leaf({MultiDiscrete("action/gear", {3})}) == MultiDiscrete("action/gear", {3}).DebugString());
  CHECK(leaf({Box("action/turn", DType::kFloat32, {2}, -1, 1)}) ==
        Box("action/turn", DType::kFloat32, {2}, -1, 1).DebugString());
  CHECK(leaf({Box("action/turn", DType::kFloat32, {})}) == "action: float32[1]");
  CHECK(leaf({Box("action/a", DType::kFloat32, {2}), Box("action/b", DType::kFloat32, {3, 1})}) ==
        "action: float32[5]");
  CHECK(leaf({MultiBinary("action", {2})}) == MultiDiscrete("action", {2, 2}).DebugString());
  CHECK(leaf({Discrete("action/a", 3), MultiDiscrete("action/b", {4, 5})}) ==
        MultiDiscrete("action", {3, 4, 5}).DebugString());
  CHECK(AsOneLeaf(With({Discrete("action/a", 3), Box("action/b", DType::kFloat32, {2})})).status().message() ==
        "environment test has the actions [action/a: int64[], action/b: float32[2]]; wanted only choices or only real "
        "numbers");
}

}  // namespace
}  // namespace waggle
