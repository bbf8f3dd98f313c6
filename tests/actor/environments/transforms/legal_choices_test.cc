#include "actor/environments/transforms/legal_choices.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("each lane's newest mask applies to every element of an action", "[unit]") {
  EnvironmentSpec spec;
  spec.name = "Masked";
  spec.observations = {Box("observation", DType::kFloat32, {1}), MultiBinary("action_mask/move", {5})};
  spec.actions = {Discrete("action/jump", 9), MultiDiscrete("action/move", {2, 3})};
  REQUIRE_OK(spec.Validate());
  LegalChoices legal(spec, /*lanes=*/3);
  float observation[2] = {};
  // Lane 2, and then lane 0.
  uint8_t masks[2][5] = {{1, 0, 1, 1, 0}, {1, 1, 0, 1, 1}};
  void* const observations[] = {observation, masks};
  const int64_t lanes[] = {2, 0};
  ReadyLanes ready;
  ready.lanes = lanes;
  ready.observations = observations;
  legal.See(ready);
  const int64_t jump[] = {8, 8, 8};
  const int64_t move[3][2] = {{1, 0}, {0, 1}, {0, 2}};
  const void* const actions[] = {jump, move};
  const auto allowed = [&](int64_t lane) {
    return std::vector<bool>{legal.Allow(lane, actions, 0), legal.Allow(lane, actions, 1),
                             legal.Allow(lane, actions, 2)};
  };
  CHECK(allowed(2) == std::vector<bool>{false, true, false});
  CHECK(allowed(0) == std::vector<bool>{false, true, true});
}

TEST_CASE("every action is allowed if there are no masks", "[unit]") {
  EnvironmentSpec spec;
  spec.observations = {Box("observation", DType::kFloat32, {1})};
  spec.actions = {Discrete("action", 9)};
  const LegalChoices legal(spec, 1);
  const int64_t action = 3;
  CHECK(legal.Allow(0, {&action}, 0));
}

}  // namespace
}  // namespace waggle
