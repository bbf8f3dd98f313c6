// What becomes of writers of several tables; journal_test.cc sees the rest of what is written.

#include "replay_server/storage/journal_batch.h"

#include "tests/replay_server/storage/journal_fixture.h"

namespace waggle {
namespace {

using testing::AwaitCheckpoint;
using testing::AwaitCommit;
using testing::AwaitInsert;
using testing::Called;
using testing::CopyAfterCrash;
using testing::Drain;
using testing::DurableReplay;
using testing::OnceTable;
using testing::Open;
using testing::OpenReplay;
using testing::Range;
using testing::SampleRewards;
using testing::SimpleBlock;
using testing::TemporaryFolder;
using testing::ValueOf;

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
  InsertBlock third = SimpleBlock(12, 6);
  for (uint64_t i = 0; i < 6; ++i) {
    third.items.push_back({1, 0, 12 + i, 1, 1.0});
  }
  Called done;
  session->Insert(3, std::move(third), [done](const auto& result) { done(result.status()); });
  const auto queue = ValueOf(replay.store->FindTable("queue"));
  CHECK(SampleRewards(queue.get(), 6) == std::vector<float>{0, 1, 2, 3, 4, 5});
  REQUIRE_OK(done.Wait());
  CHECK(Drain(queue.get()) == Range(12, 18));
  CHECK(Drain(ValueOf(replay.store->FindTable("log")).get()) == Range(0, 18));
}

TEST_CASE("what a logged table has while one that is not logged waits for room is not lost to that one", "[unit]") {
  const TemporaryFolder folder;
  const std::vector<std::string> tables = {"queue", "archive"};
  const bool crash = GENERATE(false, true);
  {
    DurableReplay replay = OpenReplay(folder.File("0"));
    TableConfig queue = OnceTable("queue", Durability::kCheckpoint);
    MakeQueue(8, &queue);
    REQUIRE(ValueOf(replay.store->CreateTable(queue)));
    REQUIRE(ValueOf(replay.store->CreateTable(OnceTable("archive", Durability::kLog))));
    const auto session = Open(&replay, "w", tables);
    Send(session.get(), 1, 0, 2);
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    // The queue gets two of the second block's six items, and none of the third one's.
    Send(session.get(), 2, 6, 2);
    Send(session.get(), 3, 12, 2);
    REQUIRE_OK(AwaitCommit(*ValueOf(replay.store->FindTable("archive"))));
    CHECK(session->progress().sequence == 1);
    CopyAfterCrash(folder.File("0"), folder.File("crash"));
  }
  DurableReplay replay = OpenReplay(folder.File(crash ? "crash" : "0"));
  const auto session = Open(&replay, "w", tables);
  CHECK(session->progress().sequence == 1);
  const auto queue = ValueOf(replay.store->FindTable("queue"));
  CHECK(queue->info().items == (crash ? 6 : 8));
  Send(session.get(), 2, 6, 2);
  Send(session.get(), 3, 12, 2);
  for (int i = 0; i < 18; ++i) {
    REQUIRE(SampleRewards(queue.get(), 1) == std::vector<float>{static_cast<float>(i)});
  }
  CHECK(queue->info().items_inserted == 18);
  CHECK(Drain(ValueOf(replay.store->FindTable("archive")).get()) == Range(0, 18));
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

}  // namespace
}  // namespace waggle
