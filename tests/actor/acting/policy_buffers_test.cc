#include "actor/acting/policy_buffers.h"

#include "tests/actor/fakes.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a policy's buffers have its actions, each column and its private values", "[unit]") {
  testing::CountingPolicy policy;
  PolicyBuffers buffers(policy, {Discrete("action", 3)}, 3);
  PolicyOutput* output = buffers.output();
  REQUIRE(output->columns.size() == 1);
  const float observations[9] = {0, 1, 2, 0, 3, 4, 0, 5, 6};
  PolicyInput input;
  const int64_t slots[3] = {0, 1, 2};
  input.slots = slots;
  const void* const shown = observations;
  input.observations = {&shown, 1};
  REQUIRE_OK(policy.Act(input, ActMode::kExplore, output));
  REQUIRE(static_cast<const int64_t*>(output->actions[0])[1] == 1);
  REQUIRE(static_cast<const float*>(output->columns[0])[5] == 6);
  REQUIRE(output->private_values[5] == 36);
}

}  // namespace
}  // namespace waggle
