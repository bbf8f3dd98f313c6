#include "common/replay/ports/replay.h"

#include <memory>

#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("a sampled batch gives its fields' elements by name", "[unit]") {
  BatchLayout layout;
  layout.fields = {{{"a", DType::kUint8, {3}}, 0}, {{"b", DType::kFloat32, {1}}, 64}};
  layout.total_bytes = 128;
  SampledBatch batch;
  REQUIRE(batch.Data("a") == nullptr);
  batch.layout = std::make_shared<const BatchLayout>(layout);
  batch.bytes = AllocateBytes(layout.total_bytes);
  REQUIRE(batch.Data("a") == batch.bytes.get());
  REQUIRE(batch.Data("b") == batch.bytes.get() + 64);
  REQUIRE(batch.Data("c") == nullptr);
}

}  // namespace waggle
