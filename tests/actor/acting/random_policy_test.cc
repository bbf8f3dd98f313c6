#include "actor/acting/random_policy.h"

#include <set>
#include <vector>

#include "actor/acting/policy_buffers.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

EnvironmentSpec Masked() {
  EnvironmentSpec spec;
  spec.name = "X";
  spec.observations = {Box("observation", DType::kFloat32, {1}), MultiBinary("action_mask", {4})};
  spec.actions = {Discrete("action", 4)};
  return spec;
}

TEST_CASE("Random actions for some of the slots are legal, and all legal ones are drawn", "[unit]") {
  RandomPolicy policy(Masked(), 3, Rng(1));
  CHECK(policy.columns().empty());
  PolicyBuffers buffers(policy, Masked().actions, 3);
  const float shown[2] = {0, 0};
  const bool masks[8] = {true, false, false, true, false, false, true, false};
  const std::vector<const void*> observations = {shown, masks};
  const std::vector<int64_t> slots = {2, 0};
  PolicyInput input;
  input.slots = slots;
  input.observations = observations;
  std::set<int64_t> first;
  for (int i = 0; i < 50; ++i) {
    REQUIRE_OK(policy.Act(input, ActMode::kGreedy, buffers.output()));
    const auto* const actions = static_cast<const int64_t*>(buffers.output()->actions[0]);
    first.insert(actions[0]);
    REQUIRE(actions[1] == 2);
  }
  CHECK(first == std::set<int64_t>{0, 3});
}

}  // namespace
}  // namespace waggle
