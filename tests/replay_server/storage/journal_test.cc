#include "replay_server/storage/journal.h"

#include <algorithm>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "common/api/batch_layout.h"
#include "common/api/block_compression.h"
#include "common/base/failpoint.h"
#include "tests/replay_server/storage/durable_replay.h"
#include "tests/replay_server/storage/full_disk.h"
#include "tests/support/stuck_stream.h"

namespace waggle {
namespace {

using testing::AwaitCheckpoint;
using testing::AwaitCommit;
using testing::AwaitInsert;
using testing::Called;
using testing::CopyAfterCrash;
using testing::DurableReplay;
using testing::DurableTable;
using testing::OpenReplay;
using testing::SimpleBlock;
using testing::TemporaryFolder;
using testing::ValueOf;

std::shared_ptr<WriterSession> Open(DurableReplay* replay, const std::string& id,
                                    const std::vector<std::string>& tables, uint64_t incarnation = 7) {
  const auto table = ValueOf(replay->store->FindTable(tables.front()));
  const auto session = ValueOf(replay->store->OpenWriter(id, tables, table->created().signature));
  REQUIRE_OK(session->Claim(incarnation));
  return session;
}

// Samples so many items, and returns their rewards, which are the numbers of their rows.
std::vector<float> SampleRewards(Table* table, int64_t count) {
  const auto layout =
      std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table->created(), count, size_t{1} << 30)));
  Called called;
  std::vector<float> rewards;
  table->Sample(layout, count, [&](absl::StatusOr<SampledBatch> batch) {
    if (batch.ok()) {
      rewards = testing::Rewards(*batch, count);
    }
    called(batch.status());
  });
  REQUIRE_OK(called.Wait());
  return rewards;
}

// The rewards of a table that gives each item once.
std::multiset<float> Drain(Table* table) {
  const std::vector<float> rewards = SampleRewards(table, table->info().items);
  return {rewards.begin(), rewards.end()};
}

TableConfig OnceTable(const std::string& name, Durability durability) {
  TableConfig config = DurableTable(name, durability);
  config.sampler.kind = SelectorKind::kFifo;
  config.max_times_sampled = 1;
  return config;
}

std::multiset<float> Range(int from, int to) {
  std::multiset<float> range;
  for (int i = from; i < to; ++i) {
    range.insert(static_cast<float>(i));
  }
  return range;
}

TEST_CASE("what a logged table has acknowledged is there after a crash, once, with all that is known of it", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    TableConfig config = DurableTable("t", Durability::kLog);
    config.sampler.kind = SelectorKind::kPrioritized;
    config.sampler.priority_exponent = 1;
    REQUIRE(ValueOf(replay.store->CreateTable(config)));
    const auto session = Open(&replay, "w", {"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
    REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(5, 5)));
    CHECK(session->progress().durable == 2);
    const auto table = ValueOf(replay.store->FindTable("t"));
    CHECK(table->info().priority_sum == 10);
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  DurableReplay replay = OpenReplay(folder.File("crashed"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  const Table::Info info = table->info();
  CHECK(info.items == 10);
  CHECK(info.items_inserted == 10);
  CHECK(info.priority_sum == 10);
  const auto session = Open(&replay, "w", {"t"});
  CHECK(session->progress().sequence == 2);
  CHECK(session->progress().items.items_inserted == 10);
  // What it sends again is not inserted again, what follows is.
  REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(5, 5)));
  CHECK(table->info().items == 10);
  REQUIRE_OK(AwaitInsert(session.get(), 3, SimpleBlock(10, 5)));
  CHECK(table->info().items == 15);
  const std::vector<float> rewards = SampleRewards(table.get(), 200);
  const std::set<float> seen(rewards.begin(), rewards.end());
  CHECK(*seen.begin() >= 0);
  CHECK(*seen.rbegin() < 15);
  CHECK(seen.size() > 10);
}

TEST_CASE("another writer under the name of one that was restored is refused", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(DurableTable("t", Durability::kLog))));
    REQUIRE_OK(AwaitInsert(Open(&replay, "w", {"t"}).get(), 1, SimpleBlock(0, 5)));
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  const auto session = ValueOf(replay.store->OpenWriter("w", {"t"}, table->created().signature));
  REQUIRE_CODE(session->Claim(8), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(session->Claim(7));
}

TEST_CASE("an item that was given away as often as it may be is not given again after a crash", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(OnceTable("t", Durability::kLog))));
    const auto session = Open(&replay, "w", {"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 10)));
    const auto table = ValueOf(replay.store->FindTable("t"));
    CHECK(SampleRewards(table.get(), 4) == std::vector<float>{0, 1, 2, 3});
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  DurableReplay replay = OpenReplay(folder.File("crashed"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  CHECK(table->info().items_sampled == 4);
  CHECK(Drain(table.get()) == Range(4, 10));
}

TEST_CASE("a block that is half in when the server crashes is completed by what its writer sends again", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    TableConfig queue = OnceTable("t", Durability::kLog);
    MakeQueue(4, &queue);
    REQUIRE(ValueOf(replay.store->CreateTable(queue)));
    const auto session = Open(&replay, "w", {"t"});
    const auto table = ValueOf(replay.store->FindTable("t"));
    Called first;
    Called second;
    session->Insert(1, SimpleBlock(0, 6), [first](const auto& result) { first(result.status()); });
    session->Insert(2, SimpleBlock(6, 6), [second](const auto& result) { second(result.status()); });
    CHECK(SampleRewards(table.get(), 3) == std::vector<float>{0, 1, 2});
    REQUIRE_OK(first.Wait());
    CHECK(!second.called());  // Item 6 is in, and 7 to 11 are not.
    REQUIRE_OK(AwaitCommit(*table));
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
    // The crash comes a second time, after a part of what was sent again is in.
    DurableReplay again = OpenReplay(folder.File("crashed"));
    const auto table_again = ValueOf(again.store->FindTable("t"));
    const auto session_again = Open(&again, "w", {"t"});
    CHECK(session_again->progress().sequence == 1);
    session_again->Insert(2, SimpleBlock(6, 6), [](const auto& /*result*/) {});
    CHECK(SampleRewards(table_again.get(), 2) == std::vector<float>{3, 4});
    REQUIRE_OK(AwaitCommit(*table_again));
    CopyAfterCrash(folder.File("crashed"), folder.File("twice"));
  }
  DurableReplay replay = OpenReplay(folder.File("twice"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  const auto session = Open(&replay, "w", {"t"});
  CHECK(session->progress().sequence == 1);
  Called done;
  session->Insert(2, SimpleBlock(6, 6), [done](const auto& result) { done(result.status()); });
  std::multiset<float> left;
  for (int i = 0; i < 7; ++i) {
    left.insert(SampleRewards(table.get(), 1).front());
  }
  REQUIRE_OK(done.Wait());
  CHECK(left == Range(5, 12));
  CHECK(table->info().items == 0);
  CHECK(table->info().items_inserted == 12);
}

// Sends a block for each of so many tables: the items of SimpleBlock for each.
void Send(WriterSession* session, uint64_t sequence, uint64_t first_row, uint32_t tables) {
  InsertBlock block = SimpleBlock(first_row, 6);
  const std::vector<ItemInfo> items = block.items;
  for (uint32_t table = 1; table < tables; ++table) {
    for (ItemInfo item : items) {
      item.table = table;
      block.items.push_back(item);
    }
  }
  session->Insert(sequence, std::move(block), [](const auto& /*result*/) {});
}

TEST_CASE("what one table has and another one waits for is not inserted again, however often the server crashes",
          "[unit]") {
  const TemporaryFolder folder;
  const std::vector<std::string> tables = {"queue", "archive"};
  {
    DurableReplay replay = OpenReplay(folder.File("0"));
    TableConfig queue = OnceTable("queue", Durability::kLog);
    MakeQueue(4, &queue);
    REQUIRE(ValueOf(replay.store->CreateTable(queue)));
    REQUIRE(ValueOf(replay.store->CreateTable(OnceTable("archive", Durability::kLog))));
    const auto session = Open(&replay, "w", tables);
    for (uint64_t i = 0; i < 3; ++i) {
      Send(session.get(), i + 1, i * 6, 2);
    }
    REQUIRE_OK(AwaitCommit(*ValueOf(replay.store->FindTable("archive"))));
    CopyAfterCrash(folder.File("0"), folder.File("1"));
  }
  // Crashes come before all has come again, and while the writer's progress changes.
  constexpr uint64_t kCrashes = 3;
  for (uint64_t crash = 1; crash <= kCrashes; ++crash) {
    DurableReplay replay = OpenReplay(folder.File(std::to_string(crash)));
    const auto session = Open(&replay, "w", tables);
    for (uint64_t i = 0; i < crash; ++i) {
      Send(session.get(), i + 1, i * 6, 2);
    }
    const auto queue = ValueOf(replay.store->FindTable("queue"));
    CHECK(SampleRewards(queue.get(), 1) == std::vector<float>{static_cast<float>(crash - 1)});
    REQUIRE_OK(AwaitCommit(*queue));
    CHECK(ValueOf(replay.store->FindTable("archive"))->info().items_inserted == 18);
    CopyAfterCrash(folder.File(std::to_string(crash)), folder.File(std::to_string(crash + 1)));
  }
  DurableReplay replay = OpenReplay(folder.File(std::to_string(kCrashes + 1)));
  const auto session = Open(&replay, "w", tables);
  for (uint64_t i = 0; i < 3; ++i) {
    Send(session.get(), i + 1, i * 6, 2);
  }
  const auto queue = ValueOf(replay.store->FindTable("queue"));
  for (int i = kCrashes; i < 18; ++i) {
    CHECK(SampleRewards(queue.get(), 1) == std::vector<float>{static_cast<float>(i)});
  }
  CHECK(queue->info().items_inserted == 18);
  CHECK(Drain(ValueOf(replay.store->FindTable("archive")).get()) == Range(0, 18));
}

TEST_CASE("a block for a logged and a checkpointed table is acknowledged when both have it, and each keeps its promise",
          "[unit]") {
  const TemporaryFolder folder;
  const std::vector<std::string> tables = {"queue", "log"};
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    TableConfig queue = OnceTable("queue", Durability::kCheckpoint);
    MakeQueue(8, &queue);
    REQUIRE(ValueOf(replay.store->CreateTable(queue)));
    REQUIRE(ValueOf(replay.store->CreateTable(OnceTable("log", Durability::kLog))));
    const auto session = Open(&replay, "w", tables);
    const auto send = [&session](uint64_t sequence) {
      Called done;
      InsertBlock block = SimpleBlock((sequence - 1) * 6, 6);
      for (uint64_t i = 0; i < 6; ++i) {
        block.items.push_back({1, 0, (sequence - 1) * 6 + i, 1, 1.0});
      }
      session->Insert(sequence, std::move(block), [done](const auto& result) { done(result.status()); });
      return done;
    };
    REQUIRE_OK(send(1).Wait());
    CHECK(session->progress().durable == 0);
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    CHECK(session->progress().durable == 1);
    const Called second = send(2);
    const auto log = ValueOf(replay.store->FindTable("log"));
    REQUIRE_OK(AwaitCommit(*log));
    CHECK(log->info().items_inserted == 12);
    CHECK(!second.called());  // Only two of its six are in the other one.
    CHECK(SampleRewards(ValueOf(replay.store->FindTable("queue")).get(), 5) == std::vector<float>{0, 1, 2, 3, 4});
    REQUIRE_OK(second.Wait());
    CHECK(session->progress().durable == 1);
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  DurableReplay replay = OpenReplay(folder.File("crashed"));
  const auto session = Open(&replay, "w", tables);
  CHECK(session->progress().sequence == 2);
  CHECK(Drain(ValueOf(replay.store->FindTable("log")).get()) == Range(0, 12));
  CHECK(Drain(ValueOf(replay.store->FindTable("queue")).get()) == Range(0, 6));
}

TEST_CASE("what was in of a block that its writer has forgotten is not left out of another one that has its number",
          "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    TableConfig queue = OnceTable("t", Durability::kCheckpoint);
    MakeQueue(4, &queue);
    REQUIRE(ValueOf(replay.store->CreateTable(queue)));
    const auto session = Open(&replay, "w", {"t"});
    Send(session.get(), 1, 0, 1);
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());  // Four of six are in.
    CHECK(SampleRewards(ValueOf(replay.store->FindTable("t")).get(), 2) == std::vector<float>{0, 1});
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  {
    // The first block was acknowledged meanwhile, so the next one comes as the first. It waits when the next checkpoint
    // is made.
    DurableReplay replay = OpenReplay(folder.File("crashed"));
    Send(Open(&replay, "w", {"t"}).get(), 1, 6, 1);
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    CopyAfterCrash(folder.File("crashed"), folder.File("twice"));
  }
  DurableReplay replay = OpenReplay(folder.File("twice"));
  const auto session = Open(&replay, "w", {"t"});
  CHECK(session->progress().sequence == 0);
  Send(session.get(), 1, 6, 1);
  const auto table = ValueOf(replay.store->FindTable("t"));
  for (const int expected : {0, 1, 2, 3, 6, 7, 8, 9, 10, 11}) {
    CHECK(SampleRewards(table.get(), 1) == std::vector<float>{static_cast<float>(expected)});
  }
  CHECK(session->progress().sequence == 1);
}

TEST_CASE("a block that is half in is completed also where its writer numbers those behind it anew", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    TableConfig queue = OnceTable("t", Durability::kCheckpoint);
    MakeQueue(4, &queue);
    REQUIRE(ValueOf(replay.store->CreateTable(queue)));
    const auto session = Open(&replay, "w", {"t"});
    Send(session.get(), 1, 0, 1);
    Send(session.get(), 2, 6, 1);
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());  // Four of the first block's six are in.
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  {
    DurableReplay replay = OpenReplay(folder.File("crashed"));
    const auto session = Open(&replay, "w", {"t"});
    Send(session.get(), 1, 0, 1);
    session->Insert(2, SimpleBlock(6, 3), [](const auto& /*result*/) {});
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    CopyAfterCrash(folder.File("crashed"), folder.File("twice"));
  }
  DurableReplay replay = OpenReplay(folder.File("twice"));
  const auto session = Open(&replay, "w", {"t"});
  CHECK(session->progress().sequence == 0);
  Send(session.get(), 1, 0, 1);
  session->Insert(2, SimpleBlock(6, 3), [](const auto& /*result*/) {});
  const auto table = ValueOf(replay.store->FindTable("t"));
  for (int i = 0; i < 9; ++i) {
    CHECK(SampleRewards(table.get(), 1) == std::vector<float>{static_cast<float>(i)});
  }
  CHECK(table->info().items_inserted == 9);
  CHECK(session->progress().sequence == 2);
}

TEST_CASE("a checkpointed table is what it was at the last checkpoint, and its writer goes on", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(OnceTable("t", Durability::kCheckpoint))));
    const auto session = Open(&replay, "w", {"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
    CHECK(session->progress().durable == 0);
    CHECK(ValueOf(AwaitCheckpoint(replay.journal.get())).number == 1);
    CHECK(session->progress().durable == 1);
    REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(5, 5)));
    CHECK(session->progress().durable == 1);
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  {
    DurableReplay replay = OpenReplay(folder.File("crashed"));
    const auto table = ValueOf(replay.store->FindTable("t"));
    CHECK(table->info().items == 5);
    const auto session = Open(&replay, "w", {"t"});
    CHECK(session->progress().sequence == 1);
    // The second block was acknowledged, so the third one comes as the second: its stream goes on later.
    REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(10, 5)));
    std::multiset<float> expected = Range(0, 5);
    expected.merge(Range(10, 15));
    CHECK(Drain(table.get()) == expected);
  }
  // A clean stop is a checkpoint.
  DurableReplay replay = OpenReplay(folder.File("crashed"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  CHECK(table->info().items == 0);
  CHECK(table->info().items_inserted == 10);
  CHECK(Open(&replay, "w", {"t"})->progress().sequence == 2);
}

TEST_CASE("a block that was half in at a checkpoint is not taken for another one that has its number since", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    TableConfig queue = OnceTable("t", Durability::kCheckpoint);
    MakeQueue(4, &queue);
    REQUIRE(ValueOf(replay.store->CreateTable(queue)));
    const auto session = Open(&replay, "w", {"t"});
    const auto table = ValueOf(replay.store->FindTable("t"));
    Called done;
    session->Insert(1, SimpleBlock(0, 6), [done](const auto& result) { done(result.status()); });
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());  // Four of six are in.
    CHECK(SampleRewards(table.get(), 2) == std::vector<float>{0, 1});
    REQUIRE_OK(done.Wait());
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  DurableReplay replay = OpenReplay(folder.File("crashed"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  const auto session = Open(&replay, "w", {"t"});
  CHECK(session->progress().sequence == 0);
  CHECK(SampleRewards(table.get(), 4) == std::vector<float>{0, 1, 2, 3});
  SECTION("the same block") {
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 6)));
    CHECK(Drain(table.get()) == Range(4, 6));
  }
  SECTION("the next block") {
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(6, 3)));
    CHECK(Drain(table.get()) == Range(6, 9));
  }
}

TEST_CASE("blocks that nothing refers to any more leave the database", "[unit]") {
  const TemporaryFolder folder;
  const auto blocks = [](DurableReplay* replay, Durability durability) {
    TableConfig config = DurableTable("t", durability);
    config.max_items = 10;
    REQUIRE(ValueOf(replay->store->CreateTable(config)));
    const auto session = Open(replay, "w", {"t"});
    for (uint64_t i = 0; i < 50; ++i) {
      REQUIRE_OK(AwaitInsert(session.get(), i + 1, SimpleBlock(i * 5, 5)));
      if (i % 20 == 0) {
        REQUIRE_OK(AwaitCheckpoint(replay->journal.get()).status());
      }
    }
    REQUIRE_OK(AwaitCheckpoint(replay->journal.get()).status());
    REQUIRE_OK(AwaitCheckpoint(replay->journal.get()).status());
  };
  const Durability durability = GENERATE(Durability::kLog, Durability::kCheckpoint);
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    blocks(&replay, durability);
  }
  DataFolderOptions options;
  options.path = folder.File("live");
  DataFolder::Opened opened = ValueOf(DataFolder::Open(options));
  CHECK(opened.state.orphans.empty());
  const std::unique_ptr<rocksdb::Iterator> it(
      opened.database->get()->NewIterator(rocksdb::ReadOptions(), opened.database->family(Database::Family::kBlocks)));
  int64_t count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    ++count;
  }
  CHECK(count >= 2);
  CHECK(count <= 4);
}

TEST_CASE("compressed columns come back as they were", "[unit]") {
  const TemporaryFolder folder;
  TableConfig config = OnceTable("t", Durability::kLog);
  config.compression = {{"observation", Codec::kLz4}};
  config.max_window = 2;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(config)));
    InsertBlock block = SimpleBlock(0, 40);
    REQUIRE_OK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &block));
    REQUIRE_OK(AwaitInsert(Open(&replay, "w", {"t"}).get(), 1, std::move(block)));
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  const auto session = Open(&replay, "w", {"t"});
  CHECK(session->progress().sequence == 1);
  CHECK(Drain(table.get()) == Range(0, 40));
}

TEST_CASE("while the disk is full nothing is acknowledged that is to last, the rest goes on, and so does all after it",
          "[unit]") {
  testing::FullDiskEnv env;
  JournalOptions options;
  options.checkpoint_period = absl::InfiniteDuration();
  Journal journal(ValueOf(Database::Open("/db", /*create=*/true, &env)), SavedState(), options);
  ReplayStore store({}, &journal);
  REQUIRE(ValueOf(store.CreateTable(DurableTable("logged", Durability::kLog))));
  REQUIRE(ValueOf(store.CreateTable(DurableTable("memory", Durability::kNone))));
  const auto logged = ValueOf(store.FindTable("logged"));
  const auto memory = ValueOf(store.FindTable("memory"));
  const auto writer = ValueOf(store.OpenWriter("w", {"logged"}, logged->created().signature));
  const auto other = ValueOf(store.OpenWriter("o", {"memory"}, logged->created().signature));
  REQUIRE_OK(AwaitInsert(writer.get(), 1, SimpleBlock(0, 5)));
  env.SetFull(true);
  Called second;
  writer->Insert(2, SimpleBlock(5, 5), [second](const auto& result) { second(result.status()); });
  while (journal.status().ok()) {
    std::this_thread::yield();
  }
  REQUIRE_CODE(journal.status(), absl::StatusCode::kUnavailable);
  REQUIRE(absl::StrContains(journal.status().message(), "No space left"));
  REQUIRE_CODE(AwaitInsert(writer.get(), 3, SimpleBlock(10, 5)), absl::StatusCode::kUnavailable);
  REQUIRE_OK(AwaitInsert(other.get(), 1, SimpleBlock(0, 5)));
  CHECK(SampleRewards(logged.get(), 3).size() == 3);
  CHECK(SampleRewards(memory.get(), 3).size() == 3);
  CHECK(!second.called());
  CHECK(writer->applied_sequence() == 1);
  REQUIRE_CODE(logged->log_status(), absl::StatusCode::kUnavailable);
  REQUIRE_OK(memory->log_status());
  env.SetFull(false);
  REQUIRE_OK(second.Wait());
  REQUIRE_OK(journal.status());
  REQUIRE_OK(AwaitInsert(writer.get(), 3, SimpleBlock(10, 5)));
  CHECK(writer->progress().durable == 3);
  store.Close();
  journal.Stop();
}

TEST_CASE("whoever reads what a journal logs holds nobody else up", "[unit]") {
  testing::FullDiskEnv env;
  JournalOptions options;
  options.checkpoint_period = absl::InfiniteDuration();
  Journal journal(ValueOf(Database::Open("/db", /*create=*/true, &env)), SavedState(), options);
  ReplayStore store({}, &journal);
  REQUIRE(ValueOf(store.CreateTable(DurableTable("t", Durability::kLog))));
  const auto table = ValueOf(store.FindTable("t"));
  const auto writer = ValueOf(store.OpenWriter("w", {"t"}, table->created().signature));
  REQUIRE_OK(AwaitInsert(writer.get(), 1, SimpleBlock(0, 5)));
  testing::StuckStream stuck(STDERR_FILENO);
  env.SetFull(true);
  Called done;
  writer->Insert(2, SimpleBlock(5, 5), [done](const auto& result) { done(result.status()); });
  while (journal.status().ok()) {
    std::this_thread::yield();
  }
  REQUIRE_CODE(AwaitInsert(writer.get(), 3, SimpleBlock(10, 5)), absl::StatusCode::kUnavailable);
  stuck.LetGo();
  env.SetFull(false);
  REQUIRE_OK(done.Wait());
}

TEST_CASE("a journal that stops while the disk is full tells those who wait", "[unit]") {
  testing::FullDiskEnv env;
  Journal journal(ValueOf(Database::Open("/db", /*create=*/true, &env)), SavedState(), {});
  env.SetFull(true);
  ReplayStore store({}, &journal);
  REQUIRE(ValueOf(store.CreateTable(DurableTable("t", Durability::kLog))));
  Called called;
  ValueOf(store.FindTable("t"))->AfterCommit(called);
  journal.Stop();
  REQUIRE_CODE(called.Wait(), absl::StatusCode::kUnavailable);
  REQUIRE_CODE(AwaitCommit(*ValueOf(store.FindTable("t"))), absl::StatusCode::kCancelled);
  REQUIRE_CODE(AwaitCheckpoint(&journal).status(), absl::StatusCode::kCancelled);
}

#ifdef WAGGLE_FAILPOINTS_ENABLED
TEST_CASE("a journal that gave a write up at its end writes nothing that refers to it", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(DurableTable("t", Durability::kLog))));
    const auto session = Open(&replay, "w", {"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
    REQUIRE_OK(SetFailpoints("journal.before_commit=error(no space)@1"));
    session->Insert(2, SimpleBlock(5, 5), [](const absl::StatusOr<WriterSession::Result>& /*result*/) {});
    while (replay.journal->status().ok()) {
      std::this_thread::yield();
    }
    // All its items change once more, and the disk takes whatever comes now.
    const auto table = ValueOf(replay.store->FindTable("t"));
    std::vector<Table::ItemAddress> items;
    table->ListItems(0, 100, &items);
    for (const Table::ItemAddress& item : items) {
      REQUIRE(ValueOf(table->UpdatePriorities({uint64_t{item.slot}}, {item.generation}, {2.0})).applied == 1);
    }
  }
  REQUIRE_OK(SetFailpoints(""));
  DurableReplay replay = OpenReplay(folder.File("live"));
  const int64_t items = ValueOf(replay.store->FindTable("t"))->info().items;
  CHECK((items == 5 || items == 10));  // 10 where the end came so late that the write was tried again.
  CHECK(!std::filesystem::exists(folder.File("live/damaged")));
}
#endif

TEST_CASE("a table is replaced by one with other columns, and its writer begins anew", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(DurableTable("t", Durability::kLog))));
    REQUIRE_OK(AwaitInsert(Open(&replay, "w", {"t"}).get(), 1, SimpleBlock(0, 5)));
  }
  TableConfig wider = testing::SimpleTable("t", 30);
  wider.durability = Durability::kLog;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    const bool connected = GENERATE(false, true);
    if (connected) {  // Before the table is replaced.
      Open(&replay, "w", {"t"});
    }
    REQUIRE(ValueOf(replay.store->CreateTable(wider, SavedPolicy::kReplace)));
    const auto session = Open(&replay, "w", {"t"}, 8);
    CHECK(session->applied_sequence() == 0);
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 7, 30)));
    session->Shrink();
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  CHECK(ValueOf(replay.store->FindTable("t"))->info().items == 7);
  CHECK(Open(&replay, "w", {"t"}, 8)->applied_sequence() == 1);
}

TEST_CASE("the folder of a table that is written through many times stays small", "[soak]") {
  const TemporaryFolder folder;
  constexpr int64_t kWidth = 16 << 10;
  TableConfig config = testing::SimpleTable("t", kWidth);
  config.durability = Durability::kLog;
  config.max_items = 500;  // 32 MB.
  DurableReplay replay = OpenReplay(folder.File("live"));
  REQUIRE(ValueOf(replay.store->CreateTable(config)));
  const auto session = Open(&replay, "w", {"t"});
  uintmax_t most = 0;
  for (uint64_t i = 0; i < 4000; ++i) {  // 4 GB.
    REQUIRE_OK(AwaitInsert(session.get(), i + 1, SimpleBlock(i * 16, 16, kWidth)));
    if (i % 100 == 99) {
      uintmax_t bytes = 0;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
        std::error_code gone;
        const uintmax_t size = entry.is_regular_file(gone) ? entry.file_size(gone) : 0;
        bytes += gone ? 0 : size;
      }
      most = std::max(most, bytes);
    }
  }
  WARN("at most " << (most >> 20) << " MiB");
  REQUIRE(most < uintmax_t{2} << 30);
}

}  // namespace
}  // namespace waggle
