// What a writer's session takes in, and what it refuses.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/reason.h"
#include "common/base/tensor/checksum.h"
#include "common/replay/blocks/block_compression.h"
#include "tests/replay_server/table/held_log.h"
#include "tests/replay_server/writers/writer_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::SmallTable;
using testing::writers::Block;
using testing::writers::Fixture;
using testing::writers::Ids;
using testing::writers::Item;
using testing::writers::Rows;

}  // namespace

TEST_CASE("a block that can never be right is refused with nothing applied", "[unit]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Fixture f;
  REQUIRE_OK(f.Insert(1, Block({{0, 0, 3}}, {})));
  const auto refuse = [&f](const InsertBlock& block, const std::string& why,
                           absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    const absl::Status status = f.Insert(2, block).status();
    CAPTURE(status, why);
    REQUIRE(status.code() == code);
    REQUIRE(absl::StrContains(status.message(), why));
    REQUIRE(f.table->info().items_inserted == 0);
    REQUIRE(f.session->applied_sequence() == 1);
  };
  refuse(Block({{0, 4, 1}}, {}), "begins with row 4; the stream's next row is 3");
  refuse(Block({{0, 2, 1}}, {}), "next row is 3");
  refuse(Block({{0, 3, 1}, {0, 3, 1}}, {}), "next row is 4");
  refuse(Block({{1, 0, 0}}, {}), "0 rows");
  refuse(Block({{0, 3, 1}}, {Item(0, 3, 2)}), "past the last row of stream 0");
  refuse(Block({{0, 3, 1}}, {Item(0, std::numeric_limits<uint64_t>::max(), 4)}), "past the last row");
  refuse(Block({{0, 3, 2}}, {Item(0, 0, 5)}), "allows 1 to 4");
  refuse(Block({{0, 3, 1}}, {Item(0, 3, 0)}), "has 0 rows");
  refuse(Block({{0, 3, 1}}, {Item(0, 3, 1), Item(0, 3, 1, -1)}), "item 1: for table \"small\": priority -1");
  refuse(Block({{0, 3, 1}}, {Item(0, 3, 1, nan)}), "not a finite number");
  refuse(Block({{0, 3, 1}}, {{1, 0, 3, 1, 1}}), "table number 1");
  InsertBlock short_data = Block({{0, 3, 2}}, {});
  short_data.data = Rows({{0, 3, 1}});
  refuse(short_data, "got 16 bytes of rows; 2 rows of 16 bytes are 32");
  InsertBlock not_finite = Block({{1, 0, 2}, {0, 3, 2}}, {Item(0, 3, 1)});
  not_finite.data = Rows(not_finite.chunks, 3);
  refuse(not_finite, "column \"pair\" of stream 0, row 4, element 1 is not finite");
  InsertBlock overflow;
  overflow.chunks = {{1, std::numeric_limits<uint64_t>::max(), 1}};
  refuse(overflow, "none that a stream can have");
  InsertBlock huge;
  huge.chunks.assign(3, {9, 0, std::numeric_limits<uint32_t>::max()});
  huge.chunks[1].first_row = std::numeric_limits<uint32_t>::max();
  huge.chunks[2].first_row = 2 * uint64_t{std::numeric_limits<uint32_t>::max()};
  refuse(huge, "bytes that a block may have", absl::StatusCode::kResourceExhausted);
  // After all this the writer can go on.
  REQUIRE_OK(f.Insert(2, Block({{0, 3, 1}}, {Item(0, 0, 4)})));
}

TEST_CASE("an item whose rows alone are more than its table's max_bytes is refused, as these are now", "[unit]") {
  TableConfig config = Fixture::Config();
  config.max_bytes = 3 * testing::kSmallRowBytes;
  Fixture f(config);
  REQUIRE_OK(f.Insert(1, Block({{0, 0, 4}}, {Item(0, 0, 3)})));
  const absl::Status refused = f.Insert(2, Block({}, {Item(0, 1, 3), Item(0, 0, 4)})).status();
  REQUIRE_CODE(refused, absl::StatusCode::kResourceExhausted);
  REQUIRE(ReasonOf(refused) == "item_too_large");
  REQUIRE(absl::StrContains(refused.message(), "item 1: its 4 rows have 64 bytes; table \"small\" may have 48"));
  REQUIRE(f.table->info().items_inserted == 1);
  config.max_bytes = 4 * testing::kSmallRowBytes;
  REQUIRE_OK(f.table->Reconfigure(config, 1, false));
  REQUIRE_OK(f.Insert(2, Block({}, {Item(0, 1, 3), Item(0, 0, 4)})));
}

TEST_CASE("a writer may not have more streams than allowed", "[unit]") {
  WriterSessionOptions options;
  options.max_streams = 2;
  Fixture f(Fixture::Config(), options);
  REQUIRE_OK(f.Insert(1, Block({{0, 0, 1}, {7, 0, 1}}, {})));
  REQUIRE_CODE(f.Insert(2, Block({{8, 0, 1}}, {})), absl::StatusCode::kResourceExhausted);
  REQUIRE_OK(f.Insert(2, Block({{7, 1, 1}}, {})));
}

TEST_CASE("rows held for windows to come do not keep alive the large blocks in which they came", "[unit]") {
  Fixture f;
  // Each block has one row of a stream of its own beside many of stream 0.
  constexpr uint32_t kRows = 50'000;
  for (uint32_t i = 0; i < 20; ++i) {
    REQUIRE_OK(f.Insert(i + 1, Block({{0, i * uint64_t{kRows}, kRows}, {1 + i, 0, 1}}, {})));
    CAPTURE(i, f.session->held_bytes());
    REQUIRE(f.session->held_bytes() < 4 * kRows * testing::kSmallRowBytes);
  }
  f.session->Shrink();
  REQUIRE(f.session->held_bytes() < 64'000);
  // Windows reach back to the copies as to the rows that came.
  const auto result = testing::ValueOf(
      f.Insert(21, Block({{7, 1, 2}, {0, 20 * kRows, 1}}, {Item(7, 0, 3), Item(0, 20 * kRows - 3, 4)})));
  REQUIRE(result.items_inserted == 2);
  const SampledBatch batch = f.Sample(2);
  REQUIRE(Ids(batch, 0) == std::vector<int64_t>{7000, 7001, 7002});
  REQUIRE(Ids(batch, 1) == std::vector<int64_t>{999'997, 999'998, 999'999, 1'000'000});
  REQUIRE(static_cast<const float*>(batch.Data("last_pair"))[1] == -7002);
}

TEST_CASE("a writer whose streams would hold too many rows is refused", "[unit]") {
  WriterSessionOptions options;
  options.max_held_bytes = 10'000;
  Fixture f(Fixture::Config(), options);
  uint64_t sequence = 0;
  std::vector<ChunkInfo> chunks;
  for (uint32_t stream = 0; stream < 9; ++stream) {
    REQUIRE_OK(f.Insert(++sequence, Block({{stream, 0, 100}}, {})));
  }
  const int64_t before = f.session->held_bytes();
  const absl::Status status = f.Insert(++sequence, Block({{9, 0, 100}}, {})).status();
  REQUIRE_CODE(status, absl::StatusCode::kResourceExhausted);
  REQUIRE(absl::StrContains(status.message(), "a writer may have 10000"));
  REQUIRE(f.session->held_bytes() == before);
  REQUIRE_OK(f.Insert(sequence, Block({{8, 100, 100}}, {})));
}

TEST_CASE("blocks that wait for room count as held, and only so many bytes may wait", "[unit]") {
  TableConfig config = Fixture::Config();
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.error_buffer = 1;
  WriterSessionOptions options;
  options.max_waiting_bytes = 10'000;
  Fixture f(config, options);
  REQUIRE_OK(f.Insert(1, Block({{0, 0, 1}}, {Item(0, 0, 1)})));
  const int64_t before = f.session->held_bytes();
  int answered = 0;
  const auto done = [&answered](const auto& /*result*/) { ++answered; };
  f.session->Insert(2, Block({{0, 1, 400}}, {Item(0, 1, 1), Item(0, 1, 1)}), done);
  REQUIRE(answered == 0);
  REQUIRE(f.session->held_bytes() - before > 2 * 400 * testing::kSmallRowBytes);
  REQUIRE_CODE(f.Insert(3, Block({{0, 401, 400}}, {Item(0, 401, 1)})), absl::StatusCode::kResourceExhausted);
  const int64_t waiting = f.session->held_bytes();
  f.Sample(1);
  f.Sample(1);
  REQUIRE(answered == 1);
  REQUIRE(waiting - f.session->held_bytes() > 400 * testing::kSmallRowBytes);
}

TEST_CASE("a block whose windows refer to too many chunks is refused with nothing applied", "[unit]") {
  TableConfig config = Fixture::Config();
  config.max_window = 100;
  WriterSessionOptions options;
  options.max_block_references = 250;
  Fixture f(config, options);
  std::vector<ChunkInfo> chunks;
  for (uint64_t row = 0; row < 100; ++row) {
    chunks.push_back({0, row, 1});
  }
  const std::vector<ItemInfo> two(2, Item(0, 0, 100));
  const std::vector<ItemInfo> three(3, Item(0, 0, 100));
  chunks.push_back({1, 0, 1});
  const int64_t before = f.session->held_bytes();
  const absl::Status first = f.Insert(1, Block(chunks, three)).status();
  REQUIRE_CODE(first, absl::StatusCode::kResourceExhausted);
  REQUIRE(absl::StrContains(first.message(), "more than 250 chunks"));
  REQUIRE(f.session->held_bytes() == before);
  REQUIRE(testing::ValueOf(f.Insert(1, Block(chunks, two))).items_inserted == 2);
  REQUIRE_CODE(f.Insert(2, Block({{0, 100, 1}}, three)), absl::StatusCode::kResourceExhausted);
  REQUIRE(testing::ValueOf(f.Insert(2, Block({{0, 100, 1}}, two))).items_inserted == 2);
  REQUIRE(f.table->info().items == 4);
}

TEST_CASE("rows whose checksum does not fit are refused, and nothing of the block is applied", "[unit]") {
  Fixture f;
  InsertBlock block = Block({{0, 0, 3}}, {Item(0, 0, 2)});
  block.checksum = Checksum(block.data);
  REQUIRE(f.Insert(1, block).ok());
  InsertBlock damaged = Block({{0, 3, 3}}, {Item(0, 3, 2)});
  damaged.checksum = Checksum(damaged.data) ^ 1;
  const absl::Status refused = f.Insert(2, damaged).status();
  REQUIRE_CODE(refused, absl::StatusCode::kDataLoss);
  REQUIRE(absl::StrContains(refused.message(), "damaged on their way"));
  REQUIRE(f.session->applied_sequence() == 1);
  REQUIRE(f.table->info().items_inserted == 1);
  damaged.checksum = Checksum(damaged.data);
  REQUIRE(f.Insert(2, damaged).ok());
}

TEST_CASE("items take rows before their window along, as far as the table's stacks reach back", "[unit]") {
  TableConfig config = Fixture::Config();
  config.view.push_back({"stack", "id", ViewField::Rows::kFirst, 3});
  Fixture f(config);
  ItemInfo item = Item(0, 2, 2);
  item.context_rows = 2;
  ItemInfo at_start = Item(1, 0, 1);
  REQUIRE(f.Insert(1, Block({{0, 0, 4}, {1, 0, 1}}, {item, at_start})).ok());
  const SampledBatch batch = f.Sample(2);
  const auto* stack = static_cast<const int64_t*>(batch.Data("stack"));
  REQUIRE(std::vector<int64_t>(stack, stack + 6) == std::vector<int64_t>{0, 1, 2, 1000, 1000, 1000});
  REQUIRE(Ids(batch, 0) == std::vector<int64_t>{2, 3});
  // More than the stacks reach back, and more than there are.
  item.context_rows = 3;
  item.first_row = 4;
  REQUIRE_CODE(f.Insert(2, Block({{0, 4, 4}}, {item})).status(), absl::StatusCode::kInvalidArgument);
  at_start.context_rows = 1;
  const absl::Status refused = f.Insert(2, Block({{0, 4, 4}}, {at_start})).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(refused.message(), "context"));
}

TEST_CASE("items without a priority of their own get the highest one of their table", "[unit]") {
  TableConfig config = SmallTable();
  Fixture f(config);
  InsertBlock block = Block({{0, 0, 6}}, {Item(0, 0, 1), Item(0, 1, 1)});
  block.highest_priority = true;
  REQUIRE(f.Insert(1, block).ok());
  REQUIRE(f.table->info().priority_sum == 2);  // 1 in an empty table.
  REQUIRE(f.Insert(2, Block({}, {Item(0, 2, 1, 7.5)})).ok());
  block = Block({}, {Item(0, 3, 1), Item(0, 4, 1)});
  block.highest_priority = true;
  REQUIRE(f.Insert(3, block).ok());
  REQUIRE(f.table->info().priority_sum == 2 + 3 * 7.5);
}

TEST_CASE("a table that takes magnitudes takes negative priorities", "[unit]") {
  TableConfig config = SmallTable();
  REQUIRE_CODE(Fixture(config).Insert(1, Block({{0, 0, 1}}, {Item(0, 0, 1, -3)})).status(),
               absl::StatusCode::kInvalidArgument);
  config.sampler.absolute_priorities = true;
  Fixture f(config);
  REQUIRE(f.Insert(1, Block({{0, 0, 1}}, {Item(0, 0, 1, -3)})).ok());
  REQUIRE(f.table->info().priority_sum == 3);
}

namespace {

TableConfig CompressedConfig() {
  TableConfig config = Fixture::Config();
  config.compression = {{"id", Codec::kLz4}, {"pair", Codec::kZstd}};
  return config;
}

// As a writer sends it.
InsertBlock CompressedBlock(const std::vector<ChunkInfo>& chunks, const std::vector<ItemInfo>& items) {
  InsertBlock block = Block(chunks, items);
  const TableConfig config = CompressedConfig();
  REQUIRE_OK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &block));
  return block;
}

}  // namespace

TEST_CASE("compressed rows are sampled as they were written, and take less memory", "[unit]") {
  Fixture f(CompressedConfig());
  Fixture plain;
  REQUIRE(f.Insert(1, CompressedBlock({{0, 0, 2000}, {1, 0, 3}}, {Item(0, 1990, 4), Item(1, 0, 3)})).ok());
  REQUIRE(plain.Insert(1, Block({{0, 0, 2000}, {1, 0, 3}}, {Item(0, 1990, 4), Item(1, 0, 3)})).ok());
  REQUIRE(f.table->info().bytes < plain.table->info().bytes * 3 / 4);
  // Windows reach back over blocks, and into rows that were copied meanwhile.
  f.session->Shrink();
  REQUIRE(f.Insert(2, CompressedBlock({{0, 2000, 2}}, {Item(0, 1998, 4)})).ok());
  const SampledBatch batch = f.Sample(3);
  REQUIRE(Ids(batch, 0) == std::vector<int64_t>{1990, 1991, 1992, 1993});
  REQUIRE(Ids(batch, 1) == std::vector<int64_t>{1000, 1001, 1002});
  REQUIRE(Ids(batch, 2) == std::vector<int64_t>{1998, 1999, 2000, 2001});
  const auto* pairs = static_cast<const float*>(batch.Data("last_pair"));
  REQUIRE(pairs[4] == 2001);
  REQUIRE(pairs[5] == -2001);
}

TEST_CASE("pieces that do not fit their rows are refused, and nothing is applied", "[unit]") {
  Fixture f(CompressedConfig());
  const auto refused = [&f](InsertBlock block) {
    const absl::Status status = f.Insert(1, std::move(block)).status();
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    REQUIRE(f.session->applied_sequence() == 0);
    return std::string(status.message());
  };
  const InsertBlock good = CompressedBlock({{0, 0, 500}}, {Item(0, 0, 4)});
  InsertBlock bad = good;
  bad.compressed_bytes.pop_back();
  REQUIRE(absl::StrContains(refused(bad), "compressed_bytes has 1 entries"));
  bad = good;
  bad.compressed_bytes[0] = 4001;
  REQUIRE(absl::StrContains(refused(bad), "the rows themselves have 4000"));
  bad = good;
  bad.compressed_bytes[0] = 0;
  refused(bad);
  bad = good;
  ++bad.compressed_bytes[0];
  REQUIRE(absl::StrContains(refused(bad), "bytes of rows"));
  bad = good;  // The border between the pieces is another one.
  ++bad.compressed_bytes[0];
  --bad.compressed_bytes[1];
  REQUIRE(absl::StrContains(refused(bad), "not lz4 data"));
  bad = Block({{0, 0, 500}}, {Item(0, 0, 4)});  // Not compressed at all.
  REQUIRE(absl::StrContains(refused(bad), "compressed_bytes has 0 entries"));
  bad = Block({{0, 0, 500}}, {Item(0, 0, 4)});
  bad.data = Rows(bad.chunks, 7);
  const TableConfig config = CompressedConfig();
  REQUIRE_OK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &bad));
  REQUIRE(absl::StrContains(refused(bad), "\"pair\" of stream 0, row 7, element 1 is not finite"));
  REQUIRE(f.Insert(1, good).ok());
}

TEST_CASE("rows that were copied are told to the log, of all streams", "[unit]") {
  testing::HeldLog log;
  TableConfig config = Fixture::Config();
  config.durability = Durability::kLog;
  Fixture f(config, {}, &log);
  REQUIRE_OK(f.Insert(1, Block({{0, 0, 1000}, {1, 0, 3}}, {})));
  f.session->HoldChanges();
  REQUIRE(f.session->TakeChanges(1).streams.size() == 2);
  f.session->HoldChanges();
  REQUIRE(f.session->TakeChanges(1).streams.empty());
  f.session->Shrink();
  f.session->HoldChanges();
  REQUIRE(f.session->TakeChanges(1).streams.size() == 2);
}

}  // namespace waggle
