#include "replay_server/storage/saved_blocks.h"

#include <algorithm>

#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

std::shared_ptr<const RowLayout> SmallLayout() {
  return std::make_shared<RowLayout>(testing::SmallTable().signature);
}

// A database with blocks 1 and 2, of two and three rows in two chunks, for two holders each.
std::unique_ptr<Database> OpenWithBlocks(const std::string& path) {
  std::unique_ptr<Database> database = ValueOf(Database::Open(path, /*create=*/true, /*env=*/nullptr));
  const auto ledger = std::make_shared<BlockLedger>(1);
  rocksdb::WriteBatch batch;
  for (const uint32_t first : {1, 2}) {
    const NewBlock block = MakeChunks(SmallLayout(), {first, 1}, 2, {}, {ledger, true});
    std::fill_n(block.data, block.bytes, static_cast<char>(first));
    const DurableBlock& durable = *block.chunks[0]->durable();
    const BlockFrame frame = EncodeBlockFrame(durable);
    REQUIRE(batch
                .Put(database->family(Database::Family::kBlocks), BlockKey(first),
                     frame.header + std::string(durable.data, durable.bytes) + frame.trailer)
                .ok());
  }
  REQUIRE_OK(database->Write(&batch, /*sync=*/false));
  return database;
}

TEST_CASE("saved blocks that somebody names become chunks, and the others are orphans", "[unit]") {
  const TemporaryFolder folder;
  const auto database = OpenWithBlocks(folder.File("d"));
  SavedBlocks blocks(database.get());
  SavedTier in_memory;
  in_memory.Add(nullptr);
  REQUIRE_OK(blocks.Need({{2, 0}, {2, 1}}, SmallLayout(), in_memory));
  REQUIRE_OK(blocks.Load());
  CHECK(blocks.orphans() == std::vector<uint64_t>{1});
  CHECK(ValueOf(blocks.Resolve({2, 0}, 0, 7))->rows() == 2);
  CHECK(ValueOf(blocks.Resolve({2, 1}, 1, 8))->rows() == 1);
  REQUIRE_CODE(blocks.Resolve({2, 2}, 0, 7).status(), absl::StatusCode::kDataLoss);  // It has two chunks,
  REQUIRE_CODE(blocks.Resolve({2, 0}, 2, 7).status(), absl::StatusCode::kDataLoss);  // two holders,
  REQUIRE_CODE(blocks.Resolve({2, 0}, 1, 7).status(), absl::StatusCode::kDataLoss);  // and this one is number 8.
  const NewBlock next = MakeChunks(SmallLayout(), {1}, 1, {}, {blocks.ledger(), true});
  CHECK(next.chunks[0]->durable()->id == 3);
}

TEST_CASE("a saved block that is missing, or named with other columns, is damage", "[unit]") {
  const TemporaryFolder folder;
  const auto database = OpenWithBlocks(folder.File("d"));
  SavedTier in_memory;
  in_memory.Add(nullptr);
  SavedBlocks missing(database.get());
  REQUIRE_OK(missing.Need({{3, 0}}, SmallLayout(), in_memory));
  REQUIRE_CODE(missing.Load(), absl::StatusCode::kDataLoss);
  SavedBlocks shared(database.get());
  REQUIRE_OK(shared.Need({{1, 0}}, SmallLayout(), in_memory));
  REQUIRE_CODE(shared.Need({{1, 1}}, SmallLayout(), in_memory), absl::StatusCode::kDataLoss);
}

TEST_CASE("rows stay in the tier of the largest limit, and in memory if one table has none", "[unit]") {
  const auto small = std::make_shared<ChunkTier>("small", 10);
  const auto large = std::make_shared<ChunkTier>("large", 20);
  SavedTier tables;
  tables.Add(small);
  tables.Add(large);
  SavedTier streams;
  streams.Add(small);
  tables.Add(streams);
  CHECK(tables.largest == large);
  CHECK_FALSE(tables.in_memory);
  SavedTier without;
  without.Add(nullptr);
  tables.Add(without);
  CHECK(tables.in_memory);
}

}  // namespace
}  // namespace waggle
