#include "actor/acting/action_scaling.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<float> Scaled(const SpaceLeaf& action, const std::vector<float>& chosen) {
  REQUIRE_OK(action.Validate());
  REQUIRE(static_cast<int64_t>(chosen.size()) == action.array.NumElements());
  std::vector<float> scaled(chosen.size(), 99);
  ScaleAction(action, chosen.data(), scaled.data());
  return scaled;
}

TEST_CASE("[-1, 1] is scaled to the bounds exactly, and numbers outside are clamped", "[unit]") {
  const SpaceLeaf action = Box("action", DType::kFloat32, {5}, -2, 6);
  CHECK(IsScaledAction(action));
  CHECK(Scaled(action, {-1, 1, 0, 0.5, -0.25}) == std::vector<float>{-2, 6, 2, 4, 1});
  CHECK(Scaled(action, {-1.5, 3, -1e30F, static_cast<float>(INFINITY), static_cast<float>(-INFINITY)}) ==
        std::vector<float>{-2, 6, -2, 6, -2});
  const SpaceLeaf odd = Box("action", DType::kFloat32, {2}, -0.1, 0.3);
  CHECK(Scaled(odd, {-1, 1}) == std::vector<float>{-0.1F, 0.3F});
  CHECK(std::isnan(Scaled(odd, {NAN, 0})[0]));
}

TEST_CASE("elements are scaled by their own bounds, and an element without both bounds does not change", "[unit]") {
  const SpaceLeaf action =
      Box("action", DType::kFloat32, {4}, {0, -kInfinity, 0, -1e300}, {10, kInfinity, kInfinity, 1});
  CHECK(IsScaledAction(action));
  CHECK(Scaled(action, {0, 7, -3, 5}) == std::vector<float>{5, 7, -3, 5});
  CHECK(Scaled(action, {2, 0, 0, 0})[0] == 10);
}

TEST_CASE("only boxes of float32 with some finite bounds are scaled", "[unit]") {
  CHECK(IsScaledAction(Box("action", DType::kFloat32, {3}, -1, 1)));
  CHECK_FALSE(IsScaledAction(Box("action", DType::kFloat32, {3})));
  CHECK_FALSE(IsScaledAction(Box("action", DType::kFloat32, {3}, 0, kInfinity)));
  CHECK_FALSE(IsScaledAction(Box("action", DType::kInt32, {3}, 0, 5)));
  CHECK_FALSE(IsScaledAction(Discrete("action", 3)));
  CHECK_FALSE(IsScaledAction(MultiDiscrete("action", {3, 4})));
  CHECK_FALSE(IsScaledAction(MultiBinary("action", {3})));
}

}  // namespace
}  // namespace waggle
