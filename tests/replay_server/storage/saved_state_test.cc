// Rows that are left on disk; data_folder_test.cc and journal_test.cc read with it all that they write.

#include "replay_server/storage/saved_state.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/config/table/batch_layout.h"
#include "replay_server/storage/records.h"
#include "tests/replay_server/storage/durable_replay.h"

namespace waggle {
namespace {

using testing::AwaitCheckpoint;
using testing::AwaitInsert;
using testing::Called;
using testing::CopyAfterCrash;
using testing::DurableReplay;
using testing::DurableTable;
using testing::OpenReplay;
using testing::SimpleBlock;
using testing::TemporaryFolder;
using testing::ValueOf;

constexpr int64_t kWidth = 1000;  // So that a row's 4 kB are worth a file of their own.
constexpr int kRows = 100;

TableConfig LimitedTable(const std::string& name, Durability durability, int64_t limit = 40'000) {
  TableConfig config = testing::SimpleTable(name, kWidth);
  config.durability = durability;
  config.sampler.kind = SelectorKind::kFifo;
  config.max_times_sampled = 1;
  config.memory_limit = limit;
  return config;
}

std::shared_ptr<WriterSession> Open(DurableReplay* replay, const std::vector<std::string>& tables) {
  const auto table = ValueOf(replay->store->FindTable(tables.front()));
  const auto session = ValueOf(replay->store->OpenWriter("w", tables, table->created().signature));
  REQUIRE_OK(session->Claim(7));
  return session;
}

// Rows [from, to), one a block, in as many tables as there are.
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

template <class Condition>
void Eventually(const Condition& condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (!condition()) {
    REQUIRE(absl::Now() < deadline);
    absl::SleepFor(absl::Milliseconds(1));
  }
}

void AwaitLimit(const Table& table) {
  Eventually([&] { return table.tier()->info().memory_bytes <= table.tier()->limit(); });
}

absl::Status Sample(Table* table, int64_t count, std::vector<float>* rewards) {
  const auto layout =
      std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table->created(), count, size_t{1} << 30)));
  Called called;
  table->Sample(layout, count, [&](absl::StatusOr<SampledBatch> batch) {
    if (batch.ok()) {
      *rewards = testing::Rewards(*batch, count);
      const auto* const all = static_cast<const float*>(batch->Data("observation"));
      for (int64_t i = 0; i < count * kWidth; ++i) {
        REQUIRE(all[i] == (*rewards)[static_cast<size_t>(i / kWidth)]);
      }
    }
    called(batch.status());
  });
  return called.Wait();
}

// Samples all, once, and checks that they are rows [0, count).
void CheckDrains(Table* table, int count) {
  REQUIRE(table->info().items == count);
  std::vector<float> rewards;
  REQUIRE_OK(Sample(table, count, &rewards));
  for (int i = 0; i < count; ++i) {
    REQUIRE(rewards[static_cast<size_t>(i)] == static_cast<float>(i));
  }
}

int64_t CountRecords(Database* database, char kind) {
  const std::unique_ptr<rocksdb::Iterator> it(
      database->get()->NewIterator(rocksdb::ReadOptions(), database->family(Database::Family::kBlocks)));
  int64_t count = 0;
  for (it->Seek(std::string(1, kind)); it->Valid() && it->key()[0] == kind; it->Next()) {
    ++count;
  }
  return count;
}

TEST_CASE("a table with a memory limit comes back with its rows on disk, and they are what they were", "[unit]") {
  const TemporaryFolder folder;
  const Durability durability = GENERATE(Durability::kLog, Durability::kCheckpoint);
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(LimitedTable("t", durability))));
    const auto table = ValueOf(replay.store->FindTable("t"));
    const auto session = Open(&replay, {"t"});
    Write(session.get(), 0, kRows);
    AwaitLimit(*table);
    CHECK(table->info().tier.disk_bytes > kRows * kWidth * 3);
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    CHECK_FALSE(std::filesystem::exists(folder.File("live/cold")));  // One copy is enough.
    CopyAfterCrash(folder.File("live"), folder.File("crash"));
  }
  for (const char* const name : {"live", "crash"}) {
    {
      DurableReplay replay = OpenReplay(folder.File(name));
      const auto table = ValueOf(replay.store->FindTable("t"));
      CHECK(table->info().tier.memory_bytes == 0);
      CHECK(table->info().tier.disk_bytes == kRows * (kWidth + 1) * 4);
      // Its writer goes on, with windows that may reach back.
      const auto session = Open(&replay, {"t"});
      CHECK(session->progress().sequence == kRows);
      Write(session.get(), kRows, kRows + 20);
      CheckDrains(table.get(), kRows + 20);
      AwaitLimit(*table);
      CHECK(table->info().tier.reads >= kRows);
      REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
      REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    }
    // All items are gone: what is left is the writer's newest row.
    DataFolderOptions options;
    options.path = folder.File(name);
    DataFolder::Opened opened = ValueOf(DataFolder::Open(options));
    CHECK(opened.state.orphans.empty());
    CHECK(CountRecords(opened.database.get(), 'b') == 0);
    CHECK(CountRecords(opened.database.get(), 'h') <= 2);
    CHECK(CountRecords(opened.database.get(), 'r') <= 2);
  }
}

TEST_CASE("a checkpointed table whose rows went to disk since is what it was at the last checkpoint", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(LimitedTable("t", Durability::kCheckpoint))));
    const auto table = ValueOf(replay.store->FindTable("t"));
    const auto session = Open(&replay, {"t"});
    Write(session.get(), 0, 50);
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    Write(session.get(), 50, kRows);
    AwaitLimit(*table);
    CopyAfterCrash(folder.File("live"), folder.File("crash"));
  }
  {
    DataFolderOptions options;
    options.path = folder.File("crash");
    CHECK(ValueOf(DataFolder::Open(options)).state.orphans.size() >
          30);  // Written ahead of a checkpoint that never was.
  }
  DurableReplay replay = OpenReplay(folder.File("crash"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
  CHECK(CountRecords(replay.database.get(), 'r') == 50);
  CheckDrains(table.get(), 50);
}

TEST_CASE("rows of tables that nobody keeps go to a folder that the next server empties", "[unit]") {
  const TemporaryFolder folder;
  DurableReplay first = OpenReplay(folder.File("live"));
  REQUIRE(ValueOf(first.store->CreateTable(LimitedTable("t", Durability::kNone))));
  const auto table = ValueOf(first.store->FindTable("t"));
  const auto session = Open(&first, {"t"});
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
    const auto session = Open(&replay, {"small", "large"});
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

TEST_CASE("where one of a writer's tables has no limit, its rows stay in memory", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    TableConfig whole = LimitedTable("whole", Durability::kLog);
    whole.memory_limit = 0;
    REQUIRE(ValueOf(replay.store->CreateTable(whole)));
    REQUIRE(ValueOf(replay.store->CreateTable(LimitedTable("limited", Durability::kLog))));
    const auto session = Open(&replay, {"limited", "whole"});
    Write(session.get(), 0, kRows);
    CHECK(ValueOf(replay.store->FindTable("limited"))->info().tier.disk_bytes == 0);
    CHECK(CountRecords(replay.database.get(), 'b') == kRows);
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  CheckDrains(ValueOf(replay.store->FindTable("limited")).get(), kRows);
  CheckDrains(ValueOf(replay.store->FindTable("whole")).get(), kRows);
}

TEST_CASE("rows whose writer may write to a table that is gone are in memory again", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(LimitedTable("kept", Durability::kLog))));
    REQUIRE(ValueOf(replay.store->CreateTable(LimitedTable("gone", Durability::kNone))));
    const auto session = Open(&replay, {"kept", "gone"});
    Write(session.get(), 0, kRows);
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  const auto kept = ValueOf(replay.store->FindTable("kept"));
  // All but the writer's newest row, which items of the other table may come to refer to.
  CHECK(kept->info().tier.disk_bytes == (kRows - 1) * (kWidth + 1) * 4);
  TableConfig other = LimitedTable("gone", Durability::kNone);
  other.memory_limit = 0;
  REQUIRE(ValueOf(replay.store->CreateTable(other)));
  CheckDrains(kept.get(), kRows);
}

TEST_CASE("rows that were damaged on disk are DATA_LOSS that names the table, and all others can be sampled",
          "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(LimitedTable("t", Durability::kLog))));
    Write(Open(&replay, {"t"}).get(), 0, kRows);
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  const std::unique_ptr<rocksdb::Iterator> it(
      replay.database->get()->NewIterator(rocksdb::ReadOptions(), replay.database->family(Database::Family::kBlocks)));
  it->Seek("r");
  REQUIRE(it->Valid());
  std::string rows = it->value().ToString();
  rows[rows.size() / 2] = static_cast<char>(rows[rows.size() / 2] ^ 1);
  rocksdb::WriteBatch batch;
  REQUIRE(batch.Put(replay.database->family(Database::Family::kBlocks), it->key(), rows).ok());
  REQUIRE_OK(replay.database->Write(&batch, /*sync=*/false));
  std::vector<float> rewards;
  const absl::Status damaged = Sample(table.get(), 1, &rewards);
  REQUIRE_CODE(damaged, absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(damaged.message(), "table \"t\""));
  REQUIRE_OK(Sample(table.get(), kRows - 1, &rewards));
  CHECK(rewards.front() == 1);
}

TEST_CASE("a limit can be lowered and raised while the table is in use", "[unit]") {
  const TemporaryFolder folder;
  DurableReplay replay = OpenReplay(folder.File("live"));
  TableConfig config = LimitedTable("t", Durability::kNone, 1 << 20);
  config.max_times_sampled = 0;
  REQUIRE(ValueOf(replay.store->CreateTable(config)));
  const auto table = ValueOf(replay.store->FindTable("t"));
  Write(Open(&replay, {"t"}).get(), 0, kRows);
  CHECK(table->info().tier.disk_bytes == 0);
  config.memory_limit = 20'000;
  const uint64_t generation = ValueOf(replay.store->Reconfigure(config, 1, /*dry_run=*/false)).generation;
  AwaitLimit(*table);
  CHECK(table->info().tier.disk_bytes >= kRows * (kWidth + 1) * 4 - 20'000);
  config.memory_limit = 1 << 20;
  REQUIRE_OK(replay.store->Reconfigure(config, generation, /*dry_run=*/false).status());
  std::vector<float> rewards;
  REQUIRE_OK(Sample(table.get(), kRows, &rewards));
  config.memory_limit = 0;
  const absl::Status lifted = replay.store->Reconfigure(config, generation + 1, /*dry_run=*/false).status();
  REQUIRE_CODE(lifted, absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(lifted.message(), "memory_limit"));
}

TEST_CASE("a table whose limit was lifted by replacing it never meets rows that are on disk", "[unit]") {
  const TemporaryFolder folder;
  TableConfig config = LimitedTable("t", Durability::kLog);
  config.max_window = 3;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(config)));
    const auto session = Open(&replay, {"t"});
    Write(session.get(), 0, kRows);
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  config.memory_limit = 0;
  REQUIRE(ValueOf(replay.store->CreateTable(config, SavedPolicy::kReplace)));
  const auto table = ValueOf(replay.store->FindTable("t"));
  const auto session = Open(&replay, {"t"});
  InsertBlock block = SimpleBlock(kRows, 1, kWidth);
  block.items.push_back({0, 0, kRows - 2, 3, 1.0});  // Reaches back to rows of before.
  REQUIRE_OK(AwaitInsert(session.get(), session->applied_sequence() + 1, std::move(block)));
  REQUIRE(table->info().items == 1);
  std::vector<float> rewards;
  REQUIRE_OK(Sample(table.get(), 1, &rewards));
  CHECK(rewards == std::vector<float>{static_cast<float>(kRows)});
}

// A table that was reconfigured, as a crash leaves it, or a clean end.
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

TEST_CASE("a table that was reconfigured comes back so, whoever creates it again as it was, or as it is", "[unit]") {
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
  // With "checkpoint" a crash goes back to the last one.
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

TEST_CASE("a ratio that was changed counts from the change after a crash too", "[unit]") {
  const TemporaryFolder folder;
  TableConfig config = LimitedTable("t", Durability::kLog);
  config.rate_limiter = {/*samples_per_insert=*/1, /*min_items=*/1, /*error_buffer=*/100};
  double carried = 0;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(config)));
    const auto session = Open(&replay, {"t"});
    Write(session.get(), 0, 50);
    config.rate_limiter.samples_per_insert = 64;
    config.rate_limiter.error_buffer = 6400;
    REQUIRE_OK(replay.store->Reconfigure(config, 1, /*dry_run=*/false).status());
    const auto table = ValueOf(replay.store->FindTable("t"));
    REQUIRE_OK(testing::AwaitCommit(*table));
    carried = table->picture().ratio_carried;
    CHECK(carried < -1000);
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  DurableReplay replay = OpenReplay(folder.File("crashed"));
  CHECK(ValueOf(replay.store->FindTable("t"))->picture().ratio_carried == carried);
}

}  // namespace
}  // namespace waggle
