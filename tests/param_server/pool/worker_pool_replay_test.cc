// The seats of replay servers, which have tables.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "param_server/pool/worker_pool.h"
#include "tests/param_server/pool/pool_fixture.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE_METHOD(PoolFixture, "two shards of one buffer are never on one replay server, which serves several buffers",
                 "[unit]") {
  SeatGroup shards{Role::kReplayServer, WorkerKind::kReplayServer, 2, 2};
  shards.distinct = true;
  Worker("replay-x", WorkerKind::kReplayServer);
  CHECK(absl::IsFailedPrecondition(pool.CountSlots().CanBegin(Needs("a", {shards}))));
  Worker("replay-y", WorkerKind::kReplayServer);
  pool.Begin(Needs("a", {shards}), {}, false);
  pool.Begin(Needs("b", {shards}, 2), {}, false);
  Round();
  for (const std::string id : {"a", "b"}) {
    CHECK(Count(absl::StrCat("of ", id)) == 2);
  }
  CHECK(Work().at("replay-x").size() == 2);
}

TEST_CASE_METHOD(PoolFixture, "a replay server that keeps its tables gets its own seat back", "[unit]") {
  SeatGroup shards{Role::kReplayServer, WorkerKind::kReplayServer, 2, 2};
  shards.distinct = true;
  shards.keeps = true;
  Worker("replay-x", WorkerKind::kReplayServer).set_storage_id("disk-x");
  Worker("replay-y", WorkerKind::kReplayServer).set_storage_id("disk-y");
  pool.Begin(Needs("a", {shards}), {}, false);
  Round();
  const std::map<int64_t, std::string> storage = pool.FindRun("a")->ReplayStorage();
  CHECK(storage == std::map<int64_t, std::string>{{0, "disk-x"}, {1, "disk-y"}});

  workers.erase("replay-x");
  Worker("replay-z", WorkerKind::kReplayServer).set_storage_id("disk-z");
  for (int i = 0; i < 12; ++i) {
    Round();
  }
  CHECK(Count("of a") == 1);  // No other process gets it.
  CHECK_THAT(pool.FindRun("a")->Missing(), Catch::Contains("1 replay server"));
  Worker("replay-x2", WorkerKind::kReplayServer).set_storage_id("disk-x");
  Round();
  CHECK(Work().at("replay-x2") == std::vector<std::string>{"replay-server 0 of a"});

  SECTION("also if it is back before its earlier process is found dead") {
    Worker("replay-y2", WorkerKind::kReplayServer).set_storage_id("disk-y");
    workers.erase("replay-y");
    Round();
    CHECK(Work().at("replay-y2") == std::vector<std::string>{"replay-server 1 of a"});
    CHECK(OrdersOf("replay-y").empty());
  }
  SECTION("from another hub too") {
    pool_.emplace(WorkerPoolOptions(), kFirstNumber * 2, now);
    pool.Begin(Needs("a", {shards}), storage, true);
    workers.clear();
    Worker("replay-b", WorkerKind::kReplayServer).set_storage_id("disk-y");
    Worker("replay-c", WorkerKind::kReplayServer).set_storage_id("disk-x");
    Worker("replay-d", WorkerKind::kReplayServer);
    for (int i = 0; i < 8; ++i) {
      Round();
    }
    CHECK(Work() == WorkOf{{"replay-b", {"replay-server 1 of a"}}, {"replay-c", {"replay-server 0 of a"}}});
  }
}

TEST_CASE_METHOD(PoolFixture, "if no table outlives its replay server, another gets the seat after a minute",
                 "[unit]") {
  const SeatGroup shard{Role::kReplayServer, WorkerKind::kReplayServer, 1, 1};
  Worker("replay-x", WorkerKind::kReplayServer).set_storage_id("disk-x");
  pool.Begin(Needs("a", {shard}), {}, false);
  Round();
  const WorkOf first = {{"replay-x", {"replay-server 0 of a"}}};
  REQUIRE(Work() == first);
  Worker("replay-x", WorkerKind::kReplayServer).add_kept("a");
  Worker("replay-y", WorkerKind::kReplayServer).set_storage_id("disk-y");
  const v1::AttendRequest cut_off = workers.at("replay-x");
  workers.erase("replay-x");
  for (int i = 0; i < 60; ++i) {
    Round();
    CHECK(Work().empty());
  }
  SECTION("but not while it may only be cut off, with its tables") {
    workers["replay-x"] = cut_off;
    Round();
    CHECK_FALSE(pool.FindRun("a")->HasLostTables(workers.at("replay-x")));
    Round();
    CHECK(Work() == first);
  }
  SECTION("and the tables of a replay server that comes back later are lost") {
    for (int i = 0; i < 10; ++i) {
      Round();
    }
    const WorkOf second = {{"replay-y", {"replay-server 0 of a"}}};
    CHECK(Work() == second);
    workers["replay-x"] = cut_off;
    Round();
    CHECK(Work() == second);
    CHECK(pool.FindRun("a")->HasLostTables(workers.at("replay-x")));
    CHECK_FALSE(pool.FindRun("a")->HasLostTables(workers.at("replay-y")));

    workers.erase("replay-y");  // They are not the tables of the next seat either.
    for (int i = 0; i < 80; ++i) {
      Round();
    }
    CHECK(Work().empty());
    workers.at("replay-x").clear_kept();
    Round();
    CHECK(Work() == first);
  }
}

TEST_CASE_METHOD(PoolFixture, "a replay server that leaves keeps the seats of all its experiments", "[unit]") {
  SeatGroup shard{Role::kReplayServer, WorkerKind::kReplayServer, 1, 1};
  shard.keeps = true;
  Worker("replay-x", WorkerKind::kReplayServer).set_storage_id("disk-x");
  pool.Begin(Needs("a", {shard}), {}, false);
  pool.Begin(Needs("b", {shard}, 2), {}, false);
  Round();
  REQUIRE(Count("replay-server 0") == 2);
  v1::AttendRequest& leaving = Worker("replay-x", WorkerKind::kReplayServer);
  leaving.set_leaving(true);
  leaving.mutable_held(0)->set_ended(true);
  Worker("replay-spare", WorkerKind::kReplayServer).set_storage_id("disk-spare");
  const std::vector<PoolEvent> events = Round();
  REQUIRE(events.size() == 1);
  CHECK(events[0].kind == PoolEvent::Kind::kAway);
  CHECK(events[0].order.experiment_id == "a");
  pool.Leave("replay-x", now);
  workers.erase("replay-x");
  Round();
  CHECK(Work().empty());
  CHECK(pool.FindRun("a")->ReplayStorage() == std::map<int64_t, std::string>{{0, "disk-x"}});
  CHECK(pool.FindRun("b")->ReplayStorage() == std::map<int64_t, std::string>{{0, "disk-x"}});

  Worker("replay-x2", WorkerKind::kReplayServer).set_storage_id("disk-x");
  Round();
  CHECK(Work().at("replay-x2") == std::vector<std::string>{"replay-server 0 of a", "replay-server 0 of b"});
}

}  // namespace
}  // namespace waggle::testing
