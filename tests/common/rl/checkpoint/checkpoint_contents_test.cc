#include "common/rl/checkpoint/checkpoint_contents.h"

#include <functional>
#include <string>

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

TEST_CASE("contents that break a rule are refused", "[unit]") {
  const std::function<void(CheckpointContents*)> breakages[] = {
      [](CheckpointContents* contents) { contents->step = -1; },
      [](CheckpointContents* contents) { contents->texts["two words"] = ""; },
      [](CheckpointContents* contents) { contents->texts["waggle:step"] = "3"; },  // A name of the format's own.
      [](CheckpointContents* contents) { contents->arrays[0].spec.name = "two words"; },
      [](CheckpointContents* contents) { contents->arrays[1].spec.name = "a"; },
      [](CheckpointContents* contents) { contents->arrays[1].spec.shape = {5}; }};
  for (const auto& breakage : breakages) {
    CheckpointContents contents;
    contents.arrays = {Array("a", {2, 3}), Array("b", {4})};
    breakage(&contents);
    REQUIRE_CODE(contents.Validate(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace waggle
