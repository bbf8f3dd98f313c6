#include "common/replay/shards/part_merge.h"

#include <cstring>

#include "common/base/tensor/byte_slices.h"
#include "common/replay/shards/shard_key.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleTable;
using testing::ValueOf;

// Every element of item i is `first` + i.
SampledBatch PartOf(int64_t items, int64_t first) {
  SampledBatch part;
  part.layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(SimpleTable("t"), items, 1 << 20)));
  part.bytes = AllocateBytes(part.layout->total_bytes);
  for (const BatchField& field : part.layout->fields) {
    const int64_t elements = field.spec.NumElements();
    for (int64_t i = 0; i < elements; ++i) {
      const int64_t value = first + i / (elements / items);
      char* const at = part.bytes.get() + field.offset;
      if (field.spec.dtype == DType::kFloat32) {
        reinterpret_cast<float*>(at)[i] = static_cast<float>(value);
      } else if (field.spec.dtype == DType::kFloat64) {
        reinterpret_cast<double*>(at)[i] = static_cast<double>(value);
      } else {
        reinterpret_cast<int64_t*>(at)[i] = value;
      }
    }
  }
  return part;
}

}  // namespace

TEST_CASE("parts of any sizes become one batch, with keys and probabilities of the whole", "[unit]") {
  const BatchLayout layout = ValueOf(MakeBatchLayout(SimpleTable("t"), 6, 1 << 20));
  SampledBatch batch;
  batch.layout = std::make_shared<const BatchLayout>(layout);
  batch.bytes = AllocateBytes(layout.total_bytes);
  PlacePart(layout, PartOf(2, 100), 4, batch.bytes.get());
  PlacePart(layout, PartOf(1, 10), 0, batch.bytes.get());
  PlacePart(layout, PartOf(3, 20), 1, batch.bytes.get());
  ShardedDraws::Complete complete;
  complete.rows = {{1, 2, 4, 2}, {1, 0, 0, 1}, {1, 1, 1, 3}};
  complete.shares = {0.5, 0.25, 0.125};
  FinishRows(layout, complete, batch.bytes.get());

  const std::vector<int64_t> values = {10, 20, 21, 22, 100, 101};
  const std::vector<size_t> shards = {0, 1, 1, 1, 2, 2};
  for (size_t i = 0; i < 6; ++i) {
    const auto value = static_cast<double>(values[i]);
    for (size_t j = 0; j < 2; ++j) {
      REQUIRE(static_cast<const float*>(batch.Data("observation"))[2 * i + j] == static_cast<float>(value));
    }
    REQUIRE(static_cast<const float*>(batch.Data("reward"))[i] == static_cast<float>(value));
    REQUIRE(static_cast<const int64_t*>(batch.Data(kItemGeneration))[i] == values[i]);
    REQUIRE(static_cast<const double*>(batch.Data(kItemPriority))[i] == value);
    REQUIRE(static_cast<const double*>(batch.Data(kItemProbability))[i] == value * complete.shares[shards[i]]);
    const int64_t key = static_cast<const int64_t*>(batch.Data(kItemKey))[i];
    REQUIRE(key >= 0);
    REQUIRE(ShardOfKey(static_cast<uint64_t>(key)) == shards[i]);
    REQUIRE(KeyInShard(static_cast<uint64_t>(key)) == static_cast<uint64_t>(values[i]));
  }
}

}  // namespace waggle
