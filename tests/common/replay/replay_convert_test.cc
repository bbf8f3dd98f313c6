#include "common/replay/replay_convert.h"

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleTable;
using testing::ValueOf;

TEST_CASE("A block survives the wire whole", "[unit]") {
  InsertBlock block = SimpleBlock(40, 5);
  block.chunks.push_back({7, 1'000'000'000'000, 3});
  block.policy_version = 99;
  for (const uint32_t table : {0U, 2U}) {
    block.items[1].table = table;
    block.items[1].priority = 0.125;
    const v1::InsertBlock proto = ToProto(block);
    CHECK(proto.item_table_size() == (table == 0 ? 0 : 5));
    const InsertBlock back = ValueOf(FromProto(proto, block.data));
    CHECK(back.policy_version == 99);
    REQUIRE(back.chunks.size() == 2);
    CHECK(back.chunks[1].stream == 7);
    CHECK(back.chunks[1].first_row == 1'000'000'000'000);
    CHECK(back.chunks[1].rows == 3);
    REQUIRE(back.items.size() == 5);
    CHECK(back.items[1].table == table);
    CHECK(back.items[1].priority == 0.125);
    CHECK(back.items[4].first_row == 44);
    CHECK(back.items[4].rows == 1);
    CHECK(back.data.size() == block.data.size());
  }
}

TEST_CASE("Lists that a block omits on the wire come back with their values", "[unit]") {
  InsertBlock block = SimpleBlock(40, 5);
  const v1::InsertBlock plain = ToProto(block);
  CHECK(plain.chunk_begins_size() == 0);
  CHECK(plain.item_context_rows_size() == 0);
  CHECK(plain.item_priority_size() == 5);
  CHECK(!plain.has_checksum());
  CHECK(!ValueOf(FromProto(plain, block.data)).highest_priority);
  CHECK(!ValueOf(FromProto(plain, block.data)).checksum.has_value());
  block.chunks[0].begins = true;
  block.items[3].context_rows = 2;
  block.highest_priority = true;
  block.compressed_bytes = {7, 0, 1000};
  block.checksum = 0;
  const v1::InsertBlock proto = ToProto(block);
  CHECK(proto.item_priority_size() == 0);
  const InsertBlock back = ValueOf(FromProto(proto, block.data));
  CHECK(back.chunks[0].begins);
  CHECK(back.items[2].context_rows == 0);
  CHECK(back.items[3].context_rows == 2);
  CHECK(back.highest_priority);
  CHECK(back.compressed_bytes == block.compressed_bytes);
  CHECK(back.checksum == 0U);
}

TEST_CASE("Lists of different lengths in a block are refused", "[unit]") {
  const std::vector<std::function<void(v1::InsertBlock*)>> spoilers = {
      [](v1::InsertBlock* b) { b->add_chunk_stream(1); },
      [](v1::InsertBlock* b) { b->add_chunk_first_row(1); },
      [](v1::InsertBlock* b) { b->add_chunk_rows(1); },
      [](v1::InsertBlock* b) { b->add_item_table(0); },
      [](v1::InsertBlock* b) { b->add_item_stream(1); },
      [](v1::InsertBlock* b) { b->add_item_first_row(1); },
      [](v1::InsertBlock* b) { b->add_item_rows(1); },
      [](v1::InsertBlock* b) { b->add_item_priority(1); },
      [](v1::InsertBlock* b) { b->mutable_item_priority()->RemoveLast(); },
      [](v1::InsertBlock* b) { b->add_item_context_rows(1); },
      [](v1::InsertBlock* b) {
        b->add_chunk_begins(true);
        b->add_chunk_begins(true);
      },
  };
  for (const auto& spoil : spoilers) {
    v1::InsertBlock proto = ToProto(SimpleBlock(0, 3));
    spoil(&proto);
    REQUIRE_CODE(FromProto(proto, ByteSlices()), absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("A layout is recognised, and every other one refused", "[unit]") {
  const TableConfig config = SimpleTable("replay");
  const BatchLayout layout = ValueOf(MakeBatchLayout(config, 16, 1 << 20));
  REQUIRE_OK(CheckSameLayout(ToProto(layout), layout));
  REQUIRE_CODE(CheckSameLayout(ToProto(ValueOf(MakeBatchLayout(config, 17, 1 << 20))), layout),
               absl::StatusCode::kFailedPrecondition);
  v1::SampleOpened opened = ToProto(layout);
  opened.mutable_fields()->RemoveLast();
  REQUIRE_CODE(CheckSameLayout(opened, layout), absl::StatusCode::kFailedPrecondition);
  opened = ToProto(layout);
  opened.mutable_fields(1)->set_offset(1);
  REQUIRE_CODE(CheckSameLayout(opened, layout), absl::StatusCode::kFailedPrecondition);
  opened = ToProto(layout);
  opened.set_batch_bytes(1);
  REQUIRE_CODE(CheckSameLayout(opened, layout), absl::StatusCode::kFailedPrecondition);
  opened = ToProto(layout);
  opened.mutable_fields(0)->mutable_spec()->set_dtype(v1::DATA_TYPE_FLOAT64);
  REQUIRE_CODE(CheckSameLayout(opened, layout), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace waggle
