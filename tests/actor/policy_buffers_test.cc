#include "actor/policy_buffers.h"

#include "tests/actor/fakes.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a policy gets room for its actions, each column and its private values", "[unit]") {
  testing::CountingPolicy policy;
  PolicyBuffers buffers(policy, ArraySpec{"action", DType::kInt64, {}}, 3);
  PolicyOutput* output = buffers.output();
  REQUIRE(output->columns.size() == 1);
  const float observations[9] = {0, 1, 2, 0, 3, 4, 0, 5, 6};
  PolicyInput input;
  input.lanes = 3;
  input.observations = observations;
  REQUIRE_OK(policy.Act(input, ActMode::kExplore, output));
  REQUIRE(static_cast<const int64_t*>(output->actions)[1] == 1);
  REQUIRE(static_cast<const float*>(output->columns[0])[5] == 6);
  REQUIRE(output->private_values[5] == 36);
}

}  // namespace
}  // namespace waggle
