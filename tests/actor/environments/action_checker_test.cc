#include "actor/environments/action_checker.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// One action leaf, and a mask if there is one.
EnvironmentSpec SpecOf(SpaceLeaf action,
                       std::vector<SpaceLeaf> observations = {Box("observation", DType::kFloat32, {})}) {
  EnvironmentSpec spec;
  spec.actions = {std::move(action)};
  spec.observations = std::move(observations);
  return spec;
}

template <class Element>
std::string Refusal(const ActionChecker& checker, std::vector<Element> action) {
  const absl::Status status = checker.Check({action.data()});
  CHECK((status.ok() || absl::IsInvalidArgument(status)));
  return std::string(status.message());
}

TEST_CASE("a choice outside its leaf's space is refused", "[unit]") {
  const ActionChecker checker(SpecOf(Discrete("action", 3)));
  CHECK(Refusal<int64_t>(checker, {0}).empty());
  CHECK(Refusal<int64_t>(checker, {2}).empty());
  CHECK(Refusal<int64_t>(checker, {3}) == "action: got 3; wanted an integer in [0, 2]");
  CHECK(Refusal<int64_t>(checker, {-1}) == "action: got -1; wanted an integer in [0, 2]");
  CHECK(Refusal<int64_t>(checker, {std::numeric_limits<int64_t>::max()}) ==
        "action: got 9223372036854775807; wanted an integer in [0, 2]");
}

TEST_CASE("each element of a multi-discrete action is checked against its own choices", "[unit]") {
  const ActionChecker checker(SpecOf(MultiDiscrete("action/move", {2, 3})));
  CHECK(Refusal<int64_t>(checker, {1, 2}).empty());
  CHECK(Refusal<int64_t>(checker, {2, 2}) == "action/move[0]: got 2; wanted an integer in [0, 1]");
  CHECK(Refusal<int64_t>(checker, {1, 3}) == "action/move[1]: got 3; wanted an integer in [0, 2]");
}

TEST_CASE("a number outside its bounds, rounded to float32, or NaN is refused", "[unit]") {
  const ActionChecker checker(SpecOf(Box("action", DType::kFloat32, {2}, {-0.1, 0}, {0.1, 1e9})));
  CHECK(Refusal<float>(checker, {0.1F, 1e9F}).empty());
  CHECK(Refusal<float>(checker, {std::nextafter(0.1F, 1.0F), 0}) ==
        "action[0]: got 0.10000001; wanted a number in [-0.1, 0.1]");
  CHECK(Refusal<float>(checker, {0, -1}) == "action[1]: got -1; wanted a number in [0, 1000000000]");
  CHECK(Refusal<float>(checker, {0, std::nanf("")}) == "action[1]: got nan; wanted a number in [0, 1000000000]");
  const ActionChecker unbounded(SpecOf(Box("action", DType::kFloat64, {})));
  CHECK(Refusal<double>(unbounded, {1e300}).empty());
  CHECK(Refusal<double>(unbounded, {std::nan("")}) == "action: got nan; wanted a finite number");
}

TEST_CASE("any bits are a valid multi-binary action", "[unit]") {
  const ActionChecker checker(SpecOf(MultiBinary("action", {2})));
  CHECK(Refusal<char>(checker, {0, 1}).empty());
}

TEST_CASE("a choice that the newest mask forbids is refused", "[unit]") {
  ActionChecker checker(SpecOf(MultiDiscrete("action", {2, 3}),
                               {Box("observation", DType::kFloat32, {}), MultiBinary("action_mask", {5})}));
  float observation = 0;
  bool mask[5] = {true, false, false, true, true};
  checker.SeeMasks({&observation, mask});
  CHECK(Refusal<int64_t>(checker, {0, 1}).empty());
  CHECK(Refusal<int64_t>(checker, {0, 0}) == "action[1]: got 0; wanted a choice that its mask allows");
  CHECK(Refusal<int64_t>(checker, {1, 1}) == "action[0]: got 1; wanted a choice that its mask allows");
  mask[1] = true;
  CHECK_FALSE(Refusal<int64_t>(checker, {1, 1}).empty());  // The mask is not seen yet.
  checker.SeeMasks({&observation, mask});
  CHECK(Refusal<int64_t>(checker, {1, 1}).empty());
  CHECK(Refusal<int64_t>(checker, {1, 3}) == "action[1]: got 3; wanted an integer in [0, 2]");
}

TEST_CASE("a masked discrete action is checked against its mask too", "[unit]") {
  ActionChecker checker(SpecOf(Discrete("action", 2), {MultiBinary("action_mask", {2})}));
  bool mask[2] = {false, true};
  checker.SeeMasks({mask});
  CHECK(Refusal<int64_t>(checker, {1}).empty());
  CHECK(Refusal<int64_t>(checker, {0}) == "action: got 0; wanted a choice that its mask allows");
}

}  // namespace
}  // namespace waggle
