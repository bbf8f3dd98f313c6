#include "common/config/spec/space_leaf.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void RequireInvalid(const SpaceLeaf& leaf, const std::string& words) {
  const absl::Status status = leaf.Validate();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::StartsWith(leaf.array.name) && Catch::Contains(words));
}

TEST_CASE("made leaves are valid and describe themselves", "[unit]") {
  const std::pair<SpaceLeaf, const char*> cases[] = {
      {Box("observation", DType::kUint8, {84, 84, 3}, 0, 255), "observation: uint8[84, 84, 3] in [0, 255]"},
      {Box("observation", DType::kFloat32, {4}), "observation: float32[4]"},
      {Box("action", DType::kFloat32, {}, -2, 2), "action: float32[] in [-2, 2]"},
      {Box("action", DType::kFloat32, {2}, {-1, -kInfinity}, {1, kInfinity}),
       "action: float32[2] in [-1, -inf] to [1, inf]"},
      {Discrete("action", 2), "action: int64[] of 2 choices"},
      {MultiDiscrete("action", {3, 4}), "action: int64[2] of 3, 4 choices"},
      {MultiDiscrete("action", std::vector<int64_t>(9, 2)), "action: int64[9] of 2, 2, 2, 2, 2, 2, 2, 2, ... choices"},
      {MultiBinary("observation", {2, 5}), "observation: bool[2, 5]"},
  };
  for (const auto& [leaf, text] : cases) {
    CAPTURE(text);
    REQUIRE_OK(leaf.Validate());
    CHECK(leaf.DebugString() == text);
  }
}

TEST_CASE("bounds are those of the element, one for all, or infinite", "[unit]") {
  const SpaceLeaf each = Box("a", DType::kFloat32, {2}, {-1, -2}, {3, 4});
  CHECK(each.Low(1) == -2);
  CHECK(each.High(0) == 3);
  const SpaceLeaf all = Box("a", DType::kFloat32, {2}, -5, 6);
  CHECK(all.Low(1) == -5);
  CHECK(all.High(1) == 6);
  const SpaceLeaf none = Box("a", DType::kFloat32, {2});
  CHECK(none.Low(0) == -kInfinity);
  CHECK(none.High(1) == kInfinity);
}

TEST_CASE("choices are summed without overflow", "[unit]") {
  CHECK(MultiDiscrete("action", {3, 4}).TotalChoices() == 7);
  CHECK(Discrete("action", 5).TotalChoices() == 5);
  CHECK(MultiBinary("action", {5}).TotalChoices() == 0);
  CHECK(MultiDiscrete("action", std::vector<int64_t>(100, std::numeric_limits<int64_t>::max())).TotalChoices() ==
        kMaxNumValues + 1);
}

TEST_CASE("a leaf that does not fit its kind is refused with its name", "[unit]") {
  RequireInvalid(Box("observation", DType::kFloat32, {4, 0}), "is empty");
  RequireInvalid(Box("observation", DType::kFloat32, {-1}), "negative");
  RequireInvalid(Box("action", DType::kFloat32, {3}, {-1, -1}, {1, 1}), "2 lower and 2 upper bounds for 3 elements");
  RequireInvalid(Box("action", DType::kFloat32, {2}, {-1, -1}, {1}), "2 lower and 1 upper");
  RequireInvalid(Box("action", DType::kFloat32, {2}, {0, 1}, {1, 1}), "element 1 are [1, 1]; wanted low < high");
  RequireInvalid(Box("action", DType::kFloat32, {1}, std::nan(""), 1), "wanted low < high");
  RequireInvalid(Box("action", DType::kFloat32, {1}, 0, std::nan("")), "wanted low < high");
  SpaceLeaf leaf = Box("action", DType::kFloat32, {1});
  leaf.num_values = {2};
  RequireInvalid(leaf, "num_values has 1 entries; wanted none for a box one");

  RequireInvalid(Discrete("action", 0), "0 choices; wanted 1 to");
  RequireInvalid(Discrete("action", kMaxNumValues + 1), "choices; wanted 1 to");
  leaf = Discrete("action", 2);
  leaf.array.shape = {1};
  RequireInvalid(leaf, "wanted int64[], a scalar, for a discrete one");
  leaf = Discrete("action", 2);
  leaf.array.dtype = DType::kInt32;
  RequireInvalid(leaf, "wanted int64[]");
  leaf = Discrete("action", 2);
  leaf.num_values.push_back(3);
  RequireInvalid(leaf, "num_values has 2 entries; wanted 1");
  leaf = Discrete("action", 2);
  leaf.low = {0};
  RequireInvalid(leaf, "1 lower and 0 upper bounds; wanted none for a discrete one");

  RequireInvalid(MultiDiscrete("action", {}), "is empty");
  RequireInvalid(MultiDiscrete("action", {2, -1}), "-1 choices");
  leaf = MultiDiscrete("action", {2, 2});
  leaf.num_values.pop_back();
  RequireInvalid(leaf, "num_values has 1 entries; wanted 2, one an element");
  leaf.array.shape = {1, 2};
  RequireInvalid(leaf, "wanted int64[n], a vector, for a multi-discrete one");

  leaf = MultiBinary("observation", {2});
  leaf.array.dtype = DType::kUint8;
  RequireInvalid(leaf, "wanted elements of type bool");
  leaf.kind = static_cast<SpaceKind>(7);
  RequireInvalid(leaf, "7 is not a kind of space");
}

}  // namespace
}  // namespace waggle
