// Rows that are left on disk. data_folder_test.cc and journal_test.cc read all other records.

#include "replay_server/storage/saved_state.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "replay_server/storage/records.h"
#include "tests/replay_server/storage/crashing_replay.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

using testing::AwaitCheckpoint;
using testing::AwaitInsert;
using testing::AwaitSample;
using testing::CopyAfterCrash;
using testing::CountRecords;
using testing::CrashingReplay;
using testing::DurableReplay;
using testing::DurableTable;
using testing::Open;
using testing::OpenReplay;
using testing::SimpleBlock;
using testing::TemporaryFolder;
using testing::ValueOf;

constexpr int64_t kWidth = 1000;  // A row has 4 kB.
constexpr int kRows = 100;

TableConfig LimitedTable(const std::string& name, Durability durability, int64_t limit = 40'000) {
  TableConfig config = testing::SimpleTable(name, kWidth);
  config.durability = durability;
  config.sampler.kind = SelectorKind::kFifo;
  config.max_times_sampled = 1;
  config.memory_limit = limit;
  return config;
}

// Writes rows [from, to), one in a block, to all tables of the session.
void Write(WriterSession* session, int from, int to) {
  for (int row = from; row < to; ++row) {
    InsertBlock block = SimpleBlock(static_cast<uint64_t>(row), 1, kWidth);
    for (uint32_t table = 1; table < session->tables().size(); ++table) {
      block.items.push_back(block.items.front());
      block.items.back().table = table;
    }
    REQUIRE_OK(AwaitInsert(session, static_cast<uint64_t>(row) + 1, std::move(block)));
  }
}

void AwaitLimit(const Table& table) {
  testing::Eventually("rows leave", [&] { return table.tier()->info().memory_bytes <= table.tier()->limit(); });
}

// Samples `count` items, and checks their rows.
std::vector<float> SampleRows(Table* table, int64_t count) {
  const SampledBatch batch = ValueOf(AwaitSample(table, count));
  std::vector<float> rewards = testing::Rewards(batch, count);
  const auto* const all = static_cast<const float*>(batch.Data("observation"));
  for (int64_t i = 0; i < count * kWidth; ++i) {
    REQUIRE(all[i] == rewards[static_cast<size_t>(i / kWidth)]);
  }
  return rewards;
}

// Samples all items, once, and checks that they are rows [0, count).
void CheckDrains(Table* table, int count) {
  REQUIRE(table->info().items == count);
  const std::vector<float> rewards = SampleRows(table, count);
  for (int i = 0; i < count; ++i) {
    REQUIRE(rewards[static_cast<size_t>(i)] == static_cast<float>(i));
  }
}

TEST_CASE("a table with a memory limit is restored with its rows on disk", "[unit]") {
  const TemporaryFolder folder;
  const Durability durability = GENERATE(Durability::kLog, Durability::kCheckpoint);
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(LimitedTable("t", durability))));
    const auto table = ValueOf(replay.store->FindTable("t"));
    const auto session = Open(&replay, "w", {"t"});
    Write(session.get(), 0, kRows);
    AwaitLimit(*table);
    CHECK(table->info().tier.disk_bytes > kRows * kWidth * 3);
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    CHECK_FALSE(std::filesystem::exists(folder.File("live/cold")));  // There is one copy.
    CopyAfterCrash(folder.File("live"), folder.File("crash"));
  }
  for (const char* const name : {"live", "crash"}) {
    {
      DurableReplay replay = OpenReplay(folder.File(name));
      const auto table = ValueOf(replay.store->FindTable("t"));
      CHECK(table->info().tier.memory_bytes == 0);
      CHECK(table->info().tier.disk_bytes == kRows * (kWidth + 1) * 4);
      // Its writer goes on. Windows may reach back.
      const auto session = Open(&replay, "w", {"t"});
      CHECK(session->progress().sequence == kRows);
      Write(session.get(), kRows, kRows + 20);
      CheckDrains(table.get(), kRows + 20);
      AwaitLimit(*table);
      CHECK(table->info().tier.reads >= kRows);
      REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
      REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    }
    // All items are gone. Only the writer's newest row is left.
    DataFolderOptions options;
    options.path = folder.File(name);
    DataFolder::Opened opened = ValueOf(DataFolder::Open(options));
    CHECK(opened.state.orphans.empty());
    CHECK(CountRecords(opened.database.get(), 'b') == 0);
    CHECK(CountRecords(opened.database.get(), 'h') <= 2);
    CHECK(CountRecords(opened.database.get(), 'r') <= 2);
  }
}

TEST_CASE("a crash takes a checkpointed table back to its last checkpoint, also if rows went to disk since", "[unit]") {
  CrashingReplay replay;
  replay.Create(LimitedTable("t", Durability::kCheckpoint));
  {
    const auto session = replay.Open({"t"});
    Write(session.get(), 0, 50);
    replay.AwaitCheckpoint();
    Write(session.get(), 50, kRows);
    AwaitLimit(*replay.FindTable("t"));
  }
  CHECK(CountRecords(replay.now()->database.get(), 'r') > 80);
  replay.Crash();
  replay.AwaitCheckpoint();  // Deletes the rows that no checkpoint has.
  CHECK(CountRecords(replay.now()->database.get(), 'r') == 50);
  CheckDrains(replay.FindTable("t").get(), 50);
}

TEST_CASE("rows of tables without durability go to a folder that the next server empties", "[unit]") {
  const TemporaryFolder folder;
  DurableReplay first = OpenReplay(folder.File("live"));
  REQUIRE(ValueOf(first.store->CreateTable(LimitedTable("t", Durability::kNone))));
  const auto table = ValueOf(first.store->FindTable("t"));
  const auto session = Open(&first, "w", {"t"});
  Write(session.get(), 0, kRows);
  AwaitLimit(*table);
  CHECK(std::filesystem::exists(folder.File("live/cold")));
  CHECK(CountRecords(first.database.get(), 'r') == 0);
  CopyAfterCrash(folder.File("live"), folder.File("crash"));
  CheckDrains(table.get(), kRows);
  const DurableReplay second = OpenReplay(folder.File("crash"));
  CHECK_FALSE(std::filesystem::exists(folder.File("crash/cold")));
  CHECK(second.store->tables().empty());
}

TEST_CASE("rows that two tables share are in memory once, and on disk once", "[unit]") {
  const TemporaryFolder folder;
  const int64_t rows_bytes = kRows * (kWidth + 1) * 4;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(LimitedTable("small", Durability::kLog, 10'000))));
    REQUIRE(ValueOf(replay.store->CreateTable(LimitedTable("large", Durability::kCheckpoint, 40'000))));
    const auto session = Open(&replay, "w", {"small", "large"});
    Write(session.get(), 0, kRows);
    const auto large = ValueOf(replay.store->FindTable("large"));
    AwaitLimit(*large);
    CHECK(large->info().tier.disk_bytes + large->info().tier.memory_bytes == rows_bytes);
    const auto small = ValueOf(replay.store->FindTable("small"));
    CHECK(small->info().tier.disk_bytes + small->info().tier.memory_bytes == 0);
    CHECK(small->info().bytes == large->info().bytes);
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    CHECK(CountRecords(replay.database.get(), 'r') == kRows);
    CheckDrains(small.get(), kRows);
    CHECK(large->info().items == kRows);
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  const auto large = ValueOf(replay.store->FindTable("large"));
  CHECK(large->info().tier.disk_bytes == rows_bytes);
  CheckDrains(large.get(), kRows);
}

TEST_CASE("rows stay in memory if one of their writer's tables has no limit", "[unit]") {
  CrashingReplay replay;
  replay.Create(LimitedTable("whole", Durability::kLog, 0));
  replay.Create(LimitedTable("limited", Durability::kLog));
  Write(replay.Open({"limited", "whole"}).get(), 0, kRows);
  CHECK(replay.FindTable("limited")->info().tier.disk_bytes == 0);
  CHECK(CountRecords(replay.now()->database.get(), 'b') == kRows);
  replay.Restart();
  CheckDrains(replay.FindTable("limited").get(), kRows);
  CheckDrains(replay.FindTable("whole").get(), kRows);
}

TEST_CASE("rows whose writer may write to a table that is gone are in memory again", "[unit]") {
  CrashingReplay replay;
  replay.Create(LimitedTable("kept", Durability::kLog));
  replay.Create(LimitedTable("gone", Durability::kNone));
  Write(replay.Open({"kept", "gone"}).get(), 0, kRows);
  replay.Restart();
  const auto kept = replay.FindTable("kept");
  // All but the writer's newest row, to which items of the other table may come to refer.
  CHECK(kept->info().tier.disk_bytes == (kRows - 1) * (kWidth + 1) * 4);
  replay.Create(LimitedTable("gone", Durability::kNone, 0));
  CheckDrains(kept.get(), kRows);
}

TEST_CASE("damaged rows on disk are DATA_LOSS, and all others can be sampled", "[unit]") {
  CrashingReplay replay;
  replay.Create(LimitedTable("t", Durability::kLog));
  Write(replay.Open({"t"}).get(), 0, kRows);
  replay.Restart();
  Database* const database = replay.now()->database.get();
  rocksdb::ColumnFamilyHandle* const blocks = database->family(Database::Family::kBlocks);
  const std::unique_ptr<rocksdb::Iterator> it(database->get()->NewIterator(rocksdb::ReadOptions(), blocks));
  it->Seek("r");
  REQUIRE(it->Valid());
  std::string rows = it->value().ToString();
  rows[rows.size() / 2] = static_cast<char>(rows[rows.size() / 2] ^ 1);
  rocksdb::WriteBatch batch;
  REQUIRE(batch.Put(blocks, it->key(), rows).ok());
  REQUIRE_OK(database->Write(&batch, /*sync=*/false));
  const auto table = replay.FindTable("t");
  REQUIRE_CODE(AwaitSample(table.get(), 1), absl::StatusCode::kDataLoss);
  CHECK(SampleRows(table.get(), kRows - 1).front() == 1);
}

TEST_CASE("a limit can be lowered and raised, but not lifted, while the table is in use", "[unit]") {
  CrashingReplay replay;
  TableConfig config = LimitedTable("t", Durability::kNone, 1 << 20);
  config.max_times_sampled = 0;
  replay.Create(config);
  const auto table = replay.FindTable("t");
  Write(replay.Open({"t"}).get(), 0, kRows);
  CHECK(table->info().tier.disk_bytes == 0);
  config.memory_limit = 20'000;
  const uint64_t generation = ValueOf(replay.store()->Reconfigure(config, 1, /*dry_run=*/false)).generation;
  AwaitLimit(*table);
  CHECK(table->info().tier.disk_bytes >= kRows * (kWidth + 1) * 4 - 20'000);
  config.memory_limit = 1 << 20;
  REQUIRE_OK(replay.store()->Reconfigure(config, generation, /*dry_run=*/false).status());
  SampleRows(table.get(), kRows);
  config.memory_limit = 0;
  REQUIRE_CODE(replay.store()->Reconfigure(config, generation + 1, /*dry_run=*/false),
               absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a table without a limit, which replaces one with a limit, never meets rows on disk", "[unit]") {
  CrashingReplay replay;
  TableConfig config = LimitedTable("t", Durability::kLog);
  config.max_window = 3;
  replay.Create(config);
  Write(replay.Open({"t"}).get(), 0, kRows);
  replay.Restart();
  config.memory_limit = 0;
  REQUIRE(ValueOf(replay.store()->CreateTable(config, SavedPolicy::kReplace)));
  const auto session = replay.Open({"t"});
  InsertBlock block = SimpleBlock(kRows, 1, kWidth);
  block.items.push_back({0, 0, kRows - 2, 3, 1.0});  // Reaches back to rows of the old table.
  REQUIRE_OK(AwaitInsert(session.get(), session->applied_sequence() + 1, std::move(block)));
  REQUIRE(replay.FindTable("t")->info().items == 1);
  CHECK(SampleRows(replay.FindTable("t").get(), 1) == std::vector<float>{static_cast<float>(kRows)});
}

// A reconfigured table, after a crash and after a clean end.
void MakeReconfigured(const TemporaryFolder& folder, const TableConfig& created, const TableConfig& changed,
                      bool checkpoint) {
  DurableReplay replay = OpenReplay(folder.File("ended"));
  REQUIRE(ValueOf(replay.store->CreateTable(created)));
  REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
  REQUIRE_OK(replay.store->Reconfigure(changed, 1, /*dry_run=*/false).status());
  REQUIRE_OK(testing::AwaitCommit(*ValueOf(replay.store->FindTable("t"))));
  if (checkpoint) {
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
  }
  CopyAfterCrash(folder.File("ended"), folder.File("crashed"));
}

TEST_CASE("a reconfigured table is restored so, also if its old configuration is created again", "[unit]") {
  const TemporaryFolder folder;
  const Durability durability = GENERATE(Durability::kCheckpoint, Durability::kLog);
  const bool checkpoint = GENERATE(false, true);
  const TableConfig created = DurableTable("t", durability);
  TableConfig changed = created;
  changed.max_items = 77;
  changed.rate_limiter.min_items = 3;
  MakeReconfigured(folder, created, changed, checkpoint);
  const std::string end = GENERATE("crashed", "ended");
  const SavedPolicy policy = GENERATE(SavedPolicy::kRefuse, SavedPolicy::kKeep, SavedPolicy::kReplace);
  CAPTURE(durability, checkpoint, end, policy);
  DurableReplay replay = OpenReplay(folder.File(end));
  // With "checkpoint" a crash goes back to the last checkpoint.
  const bool kept = end == "ended" || checkpoint || durability == Durability::kLog;
  CHECK(!ValueOf(replay.store->CreateTable(created, policy)));
  const auto table = ValueOf(replay.store->FindTable("t"));
  CHECK(Differences(*table->config(), kept ? changed : created).empty());
  CHECK(table->info().config_generation == (kept ? 2 : 1));
  if (kept) {
    CHECK(!ValueOf(replay.store->CreateTable(changed, policy)));
    CHECK(ValueOf(replay.store->FindTable("t")) == table);
  }
}

TEST_CASE("a changed ratio counts from the change after a crash too", "[unit]") {
  CrashingReplay replay;
  TableConfig config = LimitedTable("t", Durability::kLog);
  config.rate_limiter = {/*samples_per_insert=*/1, /*min_items=*/1, /*error_buffer=*/100};
  replay.Create(config);
  Write(replay.Open({"t"}).get(), 0, 50);
  config.rate_limiter.samples_per_insert = 64;
  config.rate_limiter.error_buffer = 6400;
  REQUIRE_OK(replay.store()->Reconfigure(config, 1, /*dry_run=*/false).status());
  replay.AwaitCommit("t");
  const double carried = replay.FindTable("t")->picture().ratio_carried;
  CHECK(carried < -1000);
  replay.Crash();
  CHECK(replay.FindTable("t")->picture().ratio_carried == carried);
}

}  // namespace
}  // namespace waggle
