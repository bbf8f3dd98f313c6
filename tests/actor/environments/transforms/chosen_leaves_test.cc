#include "actor/environments/transforms/chosen_leaves.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

absl::StatusOr<std::vector<size_t>> Bytes(const std::string& observation) {
  TransformedSpec spec;
  spec.spec.observations = {Box("observation/speed", DType::kFloat32, {2}), Box("observation/raw", DType::kUint8, {2}),
                            Box("observation/camera", DType::kUint8, {2}), MultiBinary("action_mask", {2})};
  spec.copies = {"observation/raw"};
  return ChosenLeaves(
      spec, observation, [](const SpaceLeaf& leaf) { return leaf.array.dtype != DType::kFloat32; }, "bytes");
}

TEST_CASE("fitting leaves are chosen, except masks and copies, or the named leaf", "[unit]") {
  CHECK(ValueOf(Bytes("")) == std::vector<size_t>{2});
  CHECK(ValueOf(Bytes("observation/raw")) == std::vector<size_t>{1});
  for (const char* const name : {"observation/speed", "observation/sonar", "action_mask"}) {
    const auto refused = Bytes(name);
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(refused.status().message()), Catch::StartsWith("observation: got "));
  }
}

TEST_CASE("widened bounds contain those of each element", "[unit]") {
  SpaceLeaf leaf = Box("observation", DType::kFloat32, {2}, {0, -3}, {1, 2});
  WidenBounds(&leaf);
  CHECK(leaf == Box("observation", DType::kFloat32, {2}, -3, 2));
  SpaceLeaf unbounded = Box("observation", DType::kFloat32, {2});
  WidenBounds(&unbounded);
  CHECK(unbounded == Box("observation", DType::kFloat32, {2}));
}

}  // namespace
}  // namespace waggle
