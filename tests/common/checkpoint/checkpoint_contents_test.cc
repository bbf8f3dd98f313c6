#include "common/checkpoint/checkpoint_contents.h"

#include <string>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

CheckpointArray Array(const std::string& name, std::vector<int64_t> shape) {
  CheckpointArray array{{name, DType::kUint8, std::move(shape)}, {}};
  const auto size = static_cast<size_t>(array.spec.NumBytes());
  std::shared_ptr<char> bytes = AllocateBytes(size);
  array.data.Append({bytes.get(), size, bytes});
  return array;
}

TEST_CASE("contents that break no rule are valid", "[unit]") {
  CheckpointContents contents;
  REQUIRE_OK(contents.Validate());
  contents.step = 7;
  contents.texts = {{"generator", "1 2"}, {"state/empty", ""}};
  contents.arrays = {Array("a", {2, 3}), Array("b", {0}), Array("c", {})};
  REQUIRE_OK(contents.Validate());
}

TEST_CASE("contents that break a rule are refused with what broke it", "[unit]") {
  CheckpointContents contents;
  contents.arrays = {Array("a", {2, 3}), Array("b", {4})};
  std::string reason;
  SECTION("a negative step") {
    contents.step = -1;
    reason = "got -1";
  }
  SECTION("a text with a bad name") {
    contents.texts["two words"] = "";
    reason = "two words";
  }
  SECTION("a text named like one of the format's") {
    contents.texts["waggle:step"] = "3";
    reason = "waggle:step";
  }
  SECTION("an array with a bad name") {
    contents.arrays[0].spec.name = "two words";
    reason = "two words";
  }
  SECTION("two arrays of one name") {
    contents.arrays[1].spec.name = "a";
    reason = "two arrays named a";
  }
  SECTION("an array with too few bytes") {
    contents.arrays[1].spec.shape = {5};
    reason = "has 4 bytes instead of 5";
  }
  const absl::Status status = contents.Validate();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(status.message(), reason));
}

}  // namespace
}  // namespace waggle
