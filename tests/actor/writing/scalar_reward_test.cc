#include "actor/writing/scalar_reward.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a step's rewards are summed over dimensions and averaged over agents", "[unit]") {
  const ArraySpec scalar{"reward", DType::kFloat32, {}};
  const ArraySpec vector{"b/reward", DType::kFloat32, {2}};
  const float scalars[3] = {0.1F, 5, -1};
  const float vectors[6] = {1, 2, 3, 4, 5, 6};
  for (size_t lane = 0; lane < 3; ++lane) {
    CHECK(ScalarReward({scalar}, {scalars}, lane) == static_cast<double>(scalars[lane]));
  }
  CHECK(ScalarReward({vector}, {vectors}, 1) == 7);
  CHECK(ScalarReward({scalar, vector}, {scalars, vectors}, 1) == 6);
  CHECK(ScalarReward({scalar, vector}, {scalars, vectors}, 2) == 5);
}

}  // namespace
}  // namespace waggle
