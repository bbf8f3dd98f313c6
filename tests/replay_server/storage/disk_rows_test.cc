#include "replay_server/storage/disk_rows.h"

#include <string>
#include <vector>

#include "replay_server/storage/records.h"
#include "tests/replay_server/storage/full_disk.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

struct Bed {
  explicit Bed(rocksdb::Env* env = nullptr)
      : database(ValueOf(Database::Open(folder.File("db"), /*create=*/true, nullptr))),
        rows(database, env == nullptr ? folder.File("cold") : "/cold", env) {}

  const TemporaryFolder folder;
  const std::shared_ptr<Database> database;
  DiskRows rows;
};

// Writes a block, and reads it into other memory.
absl::Status WriteAndRead(DiskRows* rows, ColdBlock block) {
  if (absl::Status status = rows->Write({&block, 1}); !status.ok()) {
    return status;
  }
  std::string copy(block.bytes, 'x');
  const std::string before(block.data, block.bytes);
  block.data = copy.data();
  const absl::Status status = rows->Read({&block, 1});
  if (status.ok()) {
    REQUIRE((copy == before));
  }
  return status;
}

TEST_CASE("rows of both kinds are read as they were written, until they are deleted", "[unit]") {
  Bed bed;
  const auto layout = std::make_shared<RowLayout>(testing::SmallTable().signature);
  const NewBlock made =
      MakeChunks(layout, std::vector<uint32_t>{100, 200}, 2, {}, {std::make_shared<BlockLedger>(1), false});
  std::fill(made.data, made.data + made.bytes, 'd');
  DurableBlock* const durable = made.chunks.front()->durable();
  durable->id |= kTieredBlock;
  std::string own(5000, 'o');
  std::string small(7, 's');
  const ColdBlock blocks[] = {{durable, 0, made.data, made.bytes},
                              {nullptr, 1, own.data(), own.size()},
                              {nullptr, 2, small.data(), small.size()}};
  for (const ColdBlock& block : blocks) {
    REQUIRE_OK(WriteAndRead(&bed.rows, block));
  }
  REQUIRE_OK(bed.rows.Write(blocks));
  REQUIRE_OK(bed.rows.Read(blocks));
  // Durable blocks are in the journal's database, with their heads.
  REQUIRE_OK(bed.database->Get(Database::Family::kBlocks, HeadKey(durable->id)).status());
  REQUIRE_CODE(bed.database->Get(Database::Family::kBlocks, RowsKey(1)), absl::StatusCode::kNotFound);
  const ColdRows::Gone gone[] = {{durable->id, true}, {1, false}};
  REQUIRE_OK(bed.rows.Delete(gone));
  REQUIRE_CODE(bed.rows.Read({&blocks[0], 1}), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(bed.rows.Read({&blocks[1], 1}), absl::StatusCode::kDataLoss);
  REQUIRE_OK(bed.rows.Read({&blocks[2], 1}));
  ColdBlock shorter = blocks[2];
  --shorter.bytes;
  REQUIRE_CODE(bed.rows.Read({&shorter, 1}), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(bed.database->Get(Database::Family::kBlocks, HeadKey(durable->id)), absl::StatusCode::kNotFound);
}

TEST_CASE("many rows are read at a time, and all of them fail if one does", "[unit]") {
  Bed bed;
  constexpr int kBlocks = 40;
  std::vector<std::string> rows;
  std::vector<ColdBlock> blocks;
  for (int i = 0; i < kBlocks; ++i) {
    rows.emplace_back(100'000 + 10'000 * i, static_cast<char>('a' + i % 26));
  }
  for (int i = 0; i < kBlocks; ++i) {
    blocks.push_back({nullptr, static_cast<uint64_t>(i + 1), rows[i].data(), rows[i].size()});
  }
  REQUIRE_OK(bed.rows.Write(blocks));
  std::vector<std::string> copies;
  for (const ColdBlock& block : blocks) {
    copies.emplace_back(block.bytes, '?');
  }
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i].data = copies[i].data();
  }
  REQUIRE_OK(bed.rows.Read(blocks));
  REQUIRE((copies == rows));
  REQUIRE_OK(bed.rows.Read(absl::MakeSpan(blocks).first(1)));
  REQUIRE_OK(bed.rows.Read({}));
  const ColdRows::Gone gone{kBlocks / 2, false};
  REQUIRE_OK(bed.rows.Delete({&gone, 1}));
  REQUIRE_CODE(bed.rows.Read(blocks), absl::StatusCode::kDataLoss);
}

TEST_CASE("a full disk is RESOURCE_EXHAUSTED, and rows can be written after it", "[unit]") {
  testing::FullDiskEnv env;
  Bed bed(&env);
  std::string rows(1 << 20, 'r');
  env.SetFull(true);
  ColdBlock block{nullptr, 1, rows.data(), rows.size()};
  REQUIRE_CODE(bed.rows.Write({&block, 1}), absl::StatusCode::kResourceExhausted);
  env.SetFull(false);
  REQUIRE_OK(WriteAndRead(&bed.rows, block));
  // Later: rows that the buffers cannot take are refused.
  env.SetFull(true);
  absl::Status status;
  for (uint64_t id = 2; id < 100 && status.ok(); ++id) {
    block.id = id;
    status = bed.rows.Write({&block, 1});
  }
  REQUIRE_CODE(status, absl::StatusCode::kResourceExhausted);
  env.SetFull(false);
  for (int i = 0; i < 1000 && !status.ok(); ++i) {
    status = bed.rows.Write({&block, 1});
  }
  REQUIRE_OK(status);
  for (uint64_t id = 1; id <= block.id; ++id) {
    ColdBlock each{nullptr, id, rows.data(), rows.size()};
    REQUIRE_OK(bed.rows.Read({&each, 1}));
  }
}

TEST_CASE("every call after Close is CANCELLED", "[unit]") {
  Bed bed;
  std::string rows(100, 'r');
  const ColdBlock block{nullptr, 1, rows.data(), rows.size()};
  REQUIRE_OK(bed.rows.Write({&block, 1}));
  bed.rows.Close();
  REQUIRE_CODE(bed.rows.Read({&block, 1}), absl::StatusCode::kCancelled);
  REQUIRE_CODE(bed.rows.Write({&block, 1}), absl::StatusCode::kCancelled);
  const ColdRows::Gone gone{1, false};
  REQUIRE_CODE(bed.rows.Delete({&gone, 1}), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
