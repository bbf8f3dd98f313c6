// Blocks for several tables, and blocks that are applied in part. journal_test.cc tests the rest.

#include "replay_server/storage/journal_batch.h"

#include "tests/replay_server/storage/crashing_replay.h"

namespace waggle::testing {
namespace {

TEST_CASE("a block that is half in at a crash is completed when its writer sends it again", "[unit]") {
  CrashingReplay replay;
  replay.CreateQueue("t", Durability::kLog, 4);
  {
    const auto session = replay.Open({"t"});
    const Called first = Send(session.get(), 1, 0, 1);
    const Called second = Send(session.get(), 2, 6, 1);
    CHECK(SampleRewards(replay.FindTable("t").get(), 3) == std::vector<float>{0, 1, 2});
    REQUIRE_OK(first.Wait());
    CHECK(!second.called());  // Item 6 is in; 7 to 11 wait.
    replay.AwaitCommit("t");
  }
  replay.Crash();
  {
    // A second crash, after a part of the repeated block is in.
    const auto session = replay.Open({"t"});
    CHECK(session->progress().sequence == 1);
    Send(session.get(), 2, 6, 1);
    CHECK(SampleRewards(replay.FindTable("t").get(), 2) == std::vector<float>{3, 4});
    replay.AwaitCommit("t");
  }
  replay.Crash();
  const auto table = replay.FindTable("t");
  const auto session = replay.Open({"t"});
  CHECK(session->progress().sequence == 1);
  const Called done = Send(session.get(), 2, 6, 1);
  std::multiset<float> left;
  for (int i = 0; i < 7; ++i) {
    left.insert(SampleRewards(table.get(), 1).front());
  }
  REQUIRE_OK(done.Wait());
  CHECK(left == Range(5, 12));
  CHECK(table->info().items == 0);
  CHECK(table->info().items_inserted == 12);
}

TEST_CASE("items that one table has and another waits for are not inserted again after crashes", "[unit]") {
  CrashingReplay replay;
  replay.CreateQueue("queue", Durability::kLog, 4);
  replay.Create(OnceTable("archive", Durability::kLog));
  const auto send = [&replay](uint64_t blocks) {
    const auto session = replay.Open({"queue", "archive"});
    for (uint64_t i = 0; i < blocks; ++i) {
      Send(session.get(), i + 1, i * 6, 2);
    }
    return session;
  };
  send(3);
  replay.AwaitCommit("archive");
  // Crashes before all blocks were sent again, and while the writer's progress changes.
  constexpr uint64_t kCrashes = 3;
  for (uint64_t crash = 1; crash <= kCrashes; ++crash) {
    replay.Crash();
    send(crash);
    CHECK(SampleRewards(replay.FindTable("queue").get(), 1) == std::vector<float>{static_cast<float>(crash - 1)});
    replay.AwaitCommit("queue");
    CHECK(replay.FindTable("archive")->info().items_inserted == 18);
  }
  replay.Crash();
  const auto session = send(3);
  const auto queue = replay.FindTable("queue");
  for (int i = kCrashes; i < 18; ++i) {
    CHECK(SampleRewards(queue.get(), 1) == std::vector<float>{static_cast<float>(i)});
  }
  CHECK(queue->info().items_inserted == 18);
  CHECK(Drain(replay.FindTable("archive").get()) == Range(0, 18));
}

TEST_CASE("a block for a logged and a checkpointed table is acknowledged when both have it", "[unit]") {
  CrashingReplay replay;
  replay.CreateQueue("queue", Durability::kCheckpoint, 8);
  replay.Create(OnceTable("log", Durability::kLog));
  {
    const auto session = replay.Open({"queue", "log"});
    REQUIRE_OK(Send(session.get(), 1, 0, 2).Wait());
    CHECK(session->progress().durable == 0);
    replay.AwaitCheckpoint();
    CHECK(session->progress().durable == 1);
    const Called second = Send(session.get(), 2, 6, 2);
    replay.AwaitCommit("log");
    CHECK(replay.FindTable("log")->info().items_inserted == 12);
    CHECK(!second.called());  // Only two of its six items are in the queue.
    CHECK(SampleRewards(replay.FindTable("queue").get(), 5) == std::vector<float>{0, 1, 2, 3, 4});
    REQUIRE_OK(second.Wait());
    CHECK(session->progress().durable == 1);
  }
  replay.Crash();
  const auto session = replay.Open({"queue", "log"});
  CHECK(session->progress().sequence == 2);
  const Called third = Send(session.get(), 3, 12, 2);
  const auto queue = replay.FindTable("queue");
  CHECK(SampleRewards(queue.get(), 6) == std::vector<float>{0, 1, 2, 3, 4, 5});
  REQUIRE_OK(third.Wait());
  CHECK(Drain(queue.get()) == Range(12, 18));
  CHECK(Drain(replay.FindTable("log").get()) == Range(0, 18));
}

TEST_CASE("items of a logged table are not lost for a table that waits for room", "[unit]") {
  const bool crash = GENERATE(false, true);
  CrashingReplay replay;
  replay.CreateQueue("queue", Durability::kCheckpoint, 8);
  replay.Create(OnceTable("archive", Durability::kLog));
  {
    const auto session = replay.Open({"queue", "archive"});
    Send(session.get(), 1, 0, 2);
    replay.AwaitCheckpoint();
    // The queue gets two of the second block's six items, and none of the third block's.
    Send(session.get(), 2, 6, 2);
    Send(session.get(), 3, 12, 2);
    replay.AwaitCommit("archive");
    CHECK(session->progress().sequence == 1);
  }
  if (crash) {
    replay.Crash();
  } else {
    replay.Restart();
  }
  const auto session = replay.Open({"queue", "archive"});
  CHECK(session->progress().sequence == 1);
  const auto queue = replay.FindTable("queue");
  CHECK(queue->info().items == (crash ? 6 : 8));
  Send(session.get(), 2, 6, 2);
  Send(session.get(), 3, 12, 2);
  for (int i = 0; i < 18; ++i) {
    REQUIRE(SampleRewards(queue.get(), 1) == std::vector<float>{static_cast<float>(i)});
  }
  CHECK(queue->info().items_inserted == 18);
  CHECK(Drain(replay.FindTable("archive").get()) == Range(0, 18));
}

TEST_CASE("the part of a forgotten block that was in is not left out of another block with its number", "[unit]") {
  CrashingReplay replay;
  replay.CreateQueue("t", Durability::kCheckpoint, 4);
  Send(replay.Open({"t"}).get(), 1, 0, 1);
  replay.AwaitCheckpoint();  // Four of six are in.
  CHECK(SampleRewards(replay.FindTable("t").get(), 2) == std::vector<float>{0, 1});
  replay.Crash();
  // The first block was acknowledged, so the next one comes as the first. It waits during the next checkpoint.
  Send(replay.Open({"t"}).get(), 1, 6, 1);
  replay.AwaitCheckpoint();
  replay.Crash();
  const auto session = replay.Open({"t"});
  CHECK(session->progress().sequence == 0);
  Send(session.get(), 1, 6, 1);
  const auto table = replay.FindTable("t");
  for (const int expected : {0, 1, 2, 3, 6, 7, 8, 9, 10, 11}) {
    CHECK(SampleRewards(table.get(), 1) == std::vector<float>{static_cast<float>(expected)});
  }
  CHECK(session->progress().sequence == 1);
}

TEST_CASE("a block that is half in is completed also if its writer renumbers later blocks", "[unit]") {
  CrashingReplay replay;
  replay.CreateQueue("t", Durability::kCheckpoint, 4);
  {
    const auto session = replay.Open({"t"});
    Send(session.get(), 1, 0, 1);
    Send(session.get(), 2, 6, 1);
    replay.AwaitCheckpoint();  // Four of the first block's six are in.
  }
  replay.Crash();
  {
    const auto session = replay.Open({"t"});
    Send(session.get(), 1, 0, 1);
    Send(session.get(), 2, 6, 1, /*rows=*/3);
    replay.AwaitCheckpoint();
  }
  replay.Crash();
  const auto session = replay.Open({"t"});
  CHECK(session->progress().sequence == 0);
  Send(session.get(), 1, 0, 1);
  Send(session.get(), 2, 6, 1, /*rows=*/3);
  const auto table = replay.FindTable("t");
  for (int i = 0; i < 9; ++i) {
    CHECK(SampleRewards(table.get(), 1) == std::vector<float>{static_cast<float>(i)});
  }
  CHECK(table->info().items_inserted == 9);
  CHECK(session->progress().sequence == 2);
}

TEST_CASE("a block that was half in at a checkpoint is not taken for another with its number", "[unit]") {
  CrashingReplay replay;
  replay.CreateQueue("t", Durability::kCheckpoint, 4);
  {
    const Called done = Send(replay.Open({"t"}).get(), 1, 0, 1);
    replay.AwaitCheckpoint();  // Four of six are in.
    CHECK(SampleRewards(replay.FindTable("t").get(), 2) == std::vector<float>{0, 1});
    REQUIRE_OK(done.Wait());
  }
  replay.Crash();
  const auto table = replay.FindTable("t");
  const auto session = replay.Open({"t"});
  CHECK(session->progress().sequence == 0);
  CHECK(SampleRewards(table.get(), 4) == std::vector<float>{0, 1, 2, 3});
  SECTION("the same block") {
    REQUIRE_OK(Send(session.get(), 1, 0, 1).Wait());
    CHECK(Drain(table.get()) == Range(4, 6));
  }
  SECTION("the next block") {
    REQUIRE_OK(Send(session.get(), 1, 6, 1, /*rows=*/3).Wait());
    CHECK(Drain(table.get()) == Range(6, 9));
  }
}

TEST_CASE("a block that waits while its logged table is replaced is cancelled, and its writer ends", "[unit]") {
  CrashingReplay replay;
  replay.Create(OnceTable("log", Durability::kLog));
  replay.Restart();  // A saved table may be replaced.
  replay.CreateQueue("queue", Durability::kNone, 4);
  replay.Create(OnceTable("other", Durability::kLog));
  const auto session = replay.Open({"log", "queue"});
  const Called done = Send(session.get(), 1, 0, 2);
  replay.AwaitCommit("log");
  TableConfig larger = OnceTable("log", Durability::kLog);
  larger.max_items *= 2;
  REQUIRE(ValueOf(replay.store()->CreateTable(larger, SavedPolicy::kReplace)));
  CHECK(!done.called());  // Four of its six items are in the queue.
  CHECK(SampleRewards(replay.FindTable("queue").get(), 2) == std::vector<float>{0, 1});
  // Each commit answers earlier requests.
  for (int commit = 0; commit < 100 && !done.called(); ++commit) {
    replay.AwaitCommit("other");
  }
  REQUIRE(done.called());
  REQUIRE_CODE(done.Wait(), absl::StatusCode::kCancelled);
  // It begins anew.
  REQUIRE(replay.Open({"log", "queue"})->progress().sequence == 0);
}

}  // namespace
}  // namespace waggle::testing
