// The blocks and bytes that a writer's session takes.

#include <utility>
#include <vector>

#include "common/base/reason.h"
#include "common/replay/blocks/block_compression.h"
#include "tests/replay_server/table/held_log.h"
#include "tests/replay_server/writers/writer_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::writers::Block;
using testing::writers::Fixture;
using testing::writers::Ids;
using testing::writers::Item;

}  // namespace

TEST_CASE("an item with more bytes than its table's present max_bytes is refused", "[unit]") {
  TableConfig config = Fixture::Config();
  config.max_bytes = 3 * testing::kSmallRowBytes;
  Fixture f(config);
  REQUIRE_OK(f.Insert(1, Block({{0, 0, 4}}, {Item(0, 0, 3)})));
  REQUIRE(ReasonOf(f.Insert(2, Block({}, {Item(0, 1, 3), Item(0, 0, 4)})).status()) == "item_too_large");
  REQUIRE(f.table->info().items_inserted == 1);
  config.max_bytes = 4 * testing::kSmallRowBytes;
  REQUIRE_OK(f.table->Reconfigure(config, 1, false));
  REQUIRE_OK(f.Insert(2, Block({}, {Item(0, 1, 3), Item(0, 0, 4)})));
}

TEST_CASE("rows held for future windows do not keep their large blocks alive", "[unit]") {
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
  // Windows reach back to copied rows.
  const auto result = testing::ValueOf(
      f.Insert(21, Block({{7, 1, 2}, {0, 20 * kRows, 1}}, {Item(7, 0, 3), Item(0, 20 * kRows - 3, 4)})));
  REQUIRE(result.items_inserted == 2);
  const SampledBatch batch = f.Sample(2);
  REQUIRE(Ids(batch, 0) == std::vector<int64_t>{7000, 7001, 7002});
  REQUIRE(Ids(batch, 1) == std::vector<int64_t>{999'997, 999'998, 999'999, 1'000'000});
  REQUIRE(static_cast<const float*>(batch.Data("last_pair"))[1] == -7002);
}

TEST_CASE("a block is refused if its writer's streams would hold too many rows", "[unit]") {
  WriterSessionOptions options;
  options.max_held_bytes = 10'000;
  Fixture f(Fixture::Config(), options);
  uint64_t sequence = 0;
  for (uint32_t stream = 0; stream < 9; ++stream) {
    REQUIRE_OK(f.Insert(++sequence, Block({{stream, 0, 100}}, {})));
  }
  const int64_t before = f.session->held_bytes();
  REQUIRE_CODE(f.Insert(++sequence, Block({{9, 0, 100}}, {})), absl::StatusCode::kResourceExhausted);
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

TEST_CASE("compressed rows are sampled unchanged, and take less memory", "[unit]") {
  TableConfig config = Fixture::Config();
  config.compression = {{"id", Codec::kLz4}, {"pair", Codec::kZstd}};
  Fixture f(config);
  Fixture plain;
  const auto insert = [&](uint64_t sequence, InsertBlock block) {
    REQUIRE_OK(plain.Insert(sequence, block));
    REQUIRE_OK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &block));
    REQUIRE_OK(f.Insert(sequence, std::move(block)));
  };
  insert(1, Block({{0, 0, 2000}, {1, 0, 3}}, {Item(0, 1990, 4), Item(1, 0, 3)}));
  REQUIRE(f.table->info().bytes < plain.table->info().bytes * 3 / 4);
  // Windows reach back over blocks, and into copied rows.
  f.session->Shrink();
  insert(2, Block({{0, 2000, 2}}, {Item(0, 1998, 4)}));
  const SampledBatch batch = f.Sample(3);
  REQUIRE(Ids(batch, 0) == std::vector<int64_t>{1990, 1991, 1992, 1993});
  REQUIRE(Ids(batch, 1) == std::vector<int64_t>{1000, 1001, 1002});
  REQUIRE(Ids(batch, 2) == std::vector<int64_t>{1998, 1999, 2000, 2001});
  const auto* pairs = static_cast<const float*>(batch.Data("last_pair"));
  REQUIRE(pairs[4] == 2001);
  REQUIRE(pairs[5] == -2001);
}

TEST_CASE("copied rows of all streams are changes for the log", "[unit]") {
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
