#include "param_server/pool/worker_pool.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/param_server/pool/pool_fixture.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE_METHOD(PoolFixture, "seats go to processes of the right kind, by their preferred index", "[unit]") {
  Worker("learner-x", WorkerKind::kLearner);
  Worker("actor-x", WorkerKind::kActor).set_wanted_index(1);
  Worker("actor-y", WorkerKind::kActor).set_wanted_index(0);
  Worker("evaluator-x", WorkerKind::kEvaluator);
  pool.Begin(Needs("a", {{Role::kLearner, WorkerKind::kLearner}, Actors(2, 2)}), {}, false);
  Round();
  CHECK(Work() ==
        WorkOf{{"learner-x", {"learner 0 of a"}}, {"actor-x", {"actor 1 of a"}}, {"actor-y", {"actor 0 of a"}}});
  CHECK(OrdersOf("actor-x")[0].output_folder == "/out/a");
  CHECK(pool.FindRun("a")->Missing().empty());
  CHECK(pool.FindRun("a")->Seated() == 3);
}

TEST_CASE_METHOD(PoolFixture, "an experiment can begin if there are workers for the least of each role", "[unit]") {
  const RunNeeds needs = Needs("a", {{Role::kLearner, WorkerKind::kLearner}, Actors(2, 4)});
  CHECK(absl::IsFailedPrecondition(pool.CountSlots().CanBegin(needs)));
  Worker("learner-x", WorkerKind::kLearner);
  Worker("actor-x", WorkerKind::kActor);
  Round();
  const absl::Status lacking = pool.CountSlots().CanBegin(needs);
  CHECK(absl::IsFailedPrecondition(lacking));
  CHECK_THAT(std::string(lacking.message()), Catch::Contains("2 actors"));
  Worker("actor-y", WorkerKind::kActor);
  Round();
  CHECK(pool.CountSlots().CanBegin(needs).ok());

  SECTION("it waits for busy workers") {
    pool.Begin(needs, {}, false);
    Round();
    RunNeeds second = needs;
    second.experiment_id = "b";
    const absl::Status busy = pool.CountSlots().CanBegin(second);
    CHECK(absl::IsUnavailable(busy));
    CHECK_THAT(std::string(busy.message()), Catch::Contains("1 learner"));
  }
  SECTION("it waits for reserved workers") {
    PoolSlots slots = pool.CountSlots();
    REQUIRE_OK(slots.CanBegin(needs));
    slots.Promise(needs);
    const absl::Status promised = slots.CanBegin(needs);
    CHECK(absl::IsUnavailable(promised));
    CHECK_THAT(std::string(promised.message()), Catch::Contains("waits for 1 learner, 2 actors for CartPole-v1"));
  }
  SECTION("a process that is leaving does not count") {
    Worker("actor-y", WorkerKind::kActor).set_leaving(true);
    Round();
    CHECK(absl::IsFailedPrecondition(pool.CountSlots().CanBegin(needs)));
  }
  SECTION("a process without the device, environment or address does not count") {
    RunNeeds other = needs;
    other.groups[0].device = "cuda";
    CHECK(absl::IsFailedPrecondition(pool.CountSlots().CanBegin(other)));
    Worker("learner-x", WorkerKind::kLearner).mutable_resources()->add_devices("cuda:0");
    Round();
    CHECK(pool.CountSlots().CanBegin(other).ok());
    other.groups[0].device = "cuda:1";
    CHECK(absl::IsFailedPrecondition(pool.CountSlots().CanBegin(other)));
    other = needs;
    other.environment = "Pong-v5";
    CHECK(absl::IsFailedPrecondition(pool.CountSlots().CanBegin(other)));
    other = needs;
    other.groups[0].serves = true;
    Worker("learner-x", WorkerKind::kLearner).set_address("");
    Round();
    CHECK(absl::IsFailedPrecondition(pool.CountSlots().CanBegin(other)));
  }
}

TEST_CASE_METHOD(PoolFixture, "actors beyond the least are shared evenly, and given up for experiments that need them",
                 "[unit]") {
  for (int i = 0; i < 6; ++i) {
    Worker(absl::StrCat("actor-", i), WorkerKind::kActor);
  }
  pool.Begin(Needs("a", {Actors(1, 10)}, 1), {}, false);
  Round();
  CHECK(Count("of a") == 6);

  CHECK(pool.CountSlots().CanBegin(Needs("b", {Actors(2, 3)}, 2)).ok());
  pool.Begin(Needs("b", {Actors(2, 3)}, 2), {}, false);
  Round();  // Some actors are recalled.
  Round();  // They have left, and get orders of the other experiment.
  Round();
  CHECK(Count("of a") == 3);
  CHECK(Count("of b") == 3);

  SECTION("an experiment of higher priority gets all actors beyond the least of others") {
    pool.Begin(Needs("c", {Actors(1, 4)}, 3, /*priority=*/5), {}, false);
    for (int i = 0; i < 4; ++i) {
      Round();
    }
    CHECK(Count("of c") == 3);
    CHECK(Count("of a") == 1);
    CHECK(Count("of b") == 2);
  }
  SECTION("actors that an experiment cannot use go to the other") {
    pool.Close("b");
    pool.End("b");
    for (int i = 0; i < 3; ++i) {
      Round();
    }
    CHECK(Count("of a") == 6);
  }
}

TEST_CASE_METHOD(PoolFixture, "a recalled actor is released when it has ended, is dead, or another has its index",
                 "[unit]") {
  const auto of_kind = [](const std::vector<PoolEvent>& events, PoolEvent::Kind kind) {
    std::vector<PoolEvent> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found),
                 [kind](const PoolEvent& event) { return event.kind == kind; });
    return found;
  };
  Worker("actor-x", WorkerKind::kActor);
  Worker("actor-y", WorkerKind::kActor);
  pool.Begin(Needs("a", {Actors(1, 2)}), {}, false);
  Round();
  pool.Begin(Needs("b", {Actors(1, 1)}, 2), {}, false);
  now += absl::Seconds(1);
  for (const auto& [worker_id, worker] : workers) {
    REQUIRE_OK(pool.Attend(worker, now));
  }
  const std::vector<PoolEvent> recalled = of_kind(pool.Tick(now), PoolEvent::Kind::kRecalled);
  REQUIRE(recalled.size() == 1);
  const std::string worker_id = recalled[0].worker_id;
  v1::AttendRequest& worker = workers.at(worker_id);
  // It still works, and must report its last steps.
  now += absl::Seconds(1);
  REQUIRE_OK(pool.Attend(worker, now));
  CHECK(of_kind(pool.Tick(now), PoolEvent::Kind::kReleased).empty());

  std::vector<PoolEvent> events;
  SECTION("the worker has ended") {
    worker.mutable_held(0)->set_ended(true);
    REQUIRE_OK(pool.Attend(worker, now));
    events = pool.Tick(now);
  }
  SECTION("the worker does not hold the order any more") {
    worker.clear_held();
    REQUIRE_OK(pool.Attend(worker, now));
    events = pool.Tick(now);
  }
  SECTION("the worker has left") {
    pool.Leave(worker_id, now);
    events = pool.Tick(now);
  }
  SECTION("the worker is dead") {
    pool.BrokeOff(worker_id, now);
    now += WorkerPoolOptions().broken_off_after * 0.9;
    CHECK(of_kind(pool.Tick(now), PoolEvent::Kind::kReleased).empty());
    now += WorkerPoolOptions().broken_off_after * 0.9;
    events = pool.Tick(now);
  }
  SECTION("another worker has its index") {
    Worker("actor-z", WorkerKind::kActor).set_wanted_index(recalled[0].order.index);
    Worker("actor-zz", WorkerKind::kActor);
    REQUIRE_OK(pool.Attend(workers.at("actor-z"), now));
    REQUIRE_OK(pool.Attend(workers.at("actor-zz"), now));
    events = pool.Tick(now);
    const auto released = std::find_if(events.begin(), events.end(),
                                       [](const PoolEvent& event) { return event.kind == PoolEvent::Kind::kReleased; });
    REQUIRE(released != events.end());
    const auto given = std::find_if(events.begin(), events.end(), [&](const PoolEvent& event) {
      return event.kind == PoolEvent::Kind::kOrdered && event.order.experiment_id == "a";
    });
    REQUIRE(given != events.end());
    CHECK(given->order.index == recalled[0].order.index);
    CHECK(released < given);
  }
  const std::vector<PoolEvent> released = of_kind(events, PoolEvent::Kind::kReleased);
  REQUIRE(released.size() == 1);
  CHECK(released[0].order == recalled[0].order);
  CHECK(released[0].worker_id == worker_id);
  CHECK(of_kind(pool.Tick(now), PoolEvent::Kind::kReleased).empty());
}

TEST_CASE_METHOD(PoolFixture, "no experiment gives up an actor that another one cannot use", "[unit]") {
  for (int i = 0; i < 3; ++i) {
    Worker(absl::StrCat("actor-", i), WorkerKind::kActor);
  }
  Worker("special", WorkerKind::kActor).mutable_resources()->add_environments("Pong-v5");
  RunNeeds special = Needs("s", {Actors(1, 9)}, 1);
  special.environment = "Pong-v5";
  pool.Begin(special, {}, false);
  pool.Begin(Needs("b", {Actors(1, 9)}, 2), {}, false);
  for (int i = 0; i < 5; ++i) {
    Round();
  }
  CHECK(Work().at("special") == std::vector<std::string>{"actor 0 of s"});
  CHECK(Count("of b") == 3);
}

TEST_CASE_METHOD(PoolFixture, "the seat of a process that falls silent goes to another, and the old one is dismissed",
                 "[unit]") {
  Worker("learner-x", WorkerKind::kLearner);
  pool.Begin(Needs("a", {{Role::kLearner, WorkerKind::kLearner}}), {}, false);
  Round();
  const WorkOrder first = OrdersOf("learner-x")[0];
  Worker("learner-y", WorkerKind::kLearner);
  const v1::AttendRequest gone = workers.at("learner-x");
  workers.erase("learner-x");

  SECTION("after a long silence") {
    for (int i = 0; i < 7; ++i) {
      CHECK(Count("of a") == 0);
      Round();
    }
    CHECK(OrdersOf("learner-x").size() == 1);
    const std::vector<PoolEvent> events = [this] {
      std::vector<PoolEvent> all;
      for (int i = 0; i < 4; ++i) {
        for (const PoolEvent& event : Round()) {
          all.push_back(event);
        }
      }
      return all;
    }();
    REQUIRE(events.size() == 2);
    CHECK(events[0].kind == PoolEvent::Kind::kLost);
    CHECK(events[0].worker_id == "learner-x");
    CHECK(events[0].order == first);
    CHECK(events[1].kind == PoolEvent::Kind::kOrdered);
    CHECK(Work() == WorkOf{{"learner-y", {"learner 0 of a"}}});
    CHECK(OrdersOf("learner-y")[0].number > first.number);

    // The order of a dismissed process is lost.
    REQUIRE_OK(pool.Attend(gone, now));
    CHECK(OrdersOf("learner-x").empty());
    CHECK(pool.FindMember("learner-x")->HasNews());
  }
  SECTION("sooner, if its call was broken off") {
    pool.BrokeOff("learner-x", now);
    for (int i = 0; i < 4; ++i) {
      Round();
    }
    CHECK(Work() == WorkOf{{"learner-y", {"learner 0 of a"}}});
  }
  SECTION("at once, if it leaves") {
    pool.Leave("learner-x", now);
    Round();
    CHECK(Work() == WorkOf{{"learner-y", {"learner 0 of a"}}});
  }
}

TEST_CASE_METHOD(PoolFixture, "a hub that stood still for long does not take workers for dead", "[unit]") {
  Worker("learner-x", WorkerKind::kLearner);
  Worker("actor-x", WorkerKind::kActor);
  pool.Begin(Needs("a", {{Role::kLearner, WorkerKind::kLearner}, Actors(1, 1)}), {}, false);
  Round();
  const WorkOf before = Work();
  now += absl::Hours(1);
  REQUIRE_OK(pool.Attend(workers.at("actor-x"), now));  // One comes first.
  CHECK(pool.Tick(now).empty());
  now += absl::Seconds(1);
  CHECK(pool.Tick(now).empty());
  CHECK(Work() == before);
  const std::vector<v1::PoolMember> members = pool.Members(now);
  REQUIRE(members.size() == 2);
  CHECK(members[1].worker_id() == "learner-x");
  CHECK(members[1].silent_ms() < 5'000);

  // Members that stay silent are dead, also if the hub is always slow.
  for (int i = 0; i < 30; ++i) {
    now += absl::Seconds(3);
    pool.Tick(now);
  }
  CHECK(Work().empty());
}

TEST_CASE_METHOD(PoolFixture,
                 "seats of failed workers are given after growing pauses, and an experiment without a working one ends",
                 "[unit]") {
  Worker("actor-x", WorkerKind::kActor);
  pool.Begin(Needs("a", {Actors(1, 1)}), {}, false);
  int failures = 0;
  bool hopeless = false;
  for (int i = 0; i < 200 && !hopeless; ++i) {
    for (v1::HeldOrder& held : *workers.at("actor-x").mutable_held()) {
      held.set_ended(true);
      held.set_failure("no such device");
      ++failures;
    }
    for (const PoolEvent& event : Round()) {
      hopeless = hopeless || event.kind == PoolEvent::Kind::kHopeless;
      if (event.kind == PoolEvent::Kind::kHopeless) {
        CHECK_THAT(event.text, Catch::Contains("no such device"));
      }
    }
  }
  CHECK(hopeless);
  CHECK(failures == WorkerPoolOptions().max_failures);
  CHECK(now - absl::UnixEpoch() > absl::Seconds(30));  // The pool's clock, which only the pauses move.

  SECTION("another process is tried first") {
    pool.Close("a");
    pool.End("a");
    workers.at("actor-x").clear_held();
    Worker("actor-y", WorkerKind::kActor);
    pool.Begin(Needs("b", {Actors(1, 1)}), {}, false);
    Round();
    CHECK(Work() == WorkOf{{"actor-y", {"actor 0 of b"}}});
  }
  SECTION("not while another worker of the role works well") {
    pool.Close("a");
    pool.End("a");
    pool.Begin(Needs("b", {Actors(1, 2)}), {}, false);
    workers.at("actor-x").clear_held();
    for (int i = 0; i < 70; ++i) {
      Round();
    }
    Worker("actor-y", WorkerKind::kActor);
    int more_failures = 0;
    for (int i = 0; i < 300; ++i) {
      for (v1::HeldOrder& held : *workers.at("actor-y").mutable_held()) {
        ++more_failures;
        held.set_ended(true);
        held.set_failure("no such device");
      }
      for (const PoolEvent& event : Round()) {
        CHECK(event.kind != PoolEvent::Kind::kHopeless);
      }
    }
    CHECK(more_failures > 10);
    CHECK(more_failures < 60);  // The pauses grow.
  }
}

TEST_CASE_METHOD(PoolFixture, "the reason why a worker gave up becomes one line", "[unit]") {
  Worker("actor-x", WorkerKind::kActor);
  pool.Begin(Needs("a", {Actors(1, 1)}), {}, false);
  Round();
  workers.at("actor-x").mutable_held(0)->set_ended(true);
  workers.at("actor-x").mutable_held(0)->set_failure("no \"caf\xc3\xa9\"\n2026 error\x1b[2J");
  const std::vector<PoolEvent> events = Round();
  REQUIRE(!events.empty());
  CHECK_THAT(events[0].text, Catch::EndsWith("gave up: no \"caf\xc3\xa9\"\\n2026 error\\x1b[2J"));
}

TEST_CASE_METHOD(PoolFixture, "a process with a device is used last if no device is needed", "[unit]") {
  Worker("learner-a", WorkerKind::kLearner).mutable_resources()->add_devices("cuda:0");
  Worker("learner-b", WorkerKind::kLearner);
  const SeatGroup plain{Role::kLearner, WorkerKind::kLearner};
  SeatGroup on_device = plain;
  on_device.device = "cuda";
  Round();
  pool.Begin(Needs("a", {plain}), {}, false);
  CHECK(pool.CountSlots().CanBegin(Needs("b", {on_device}, 2)).ok());
  Round();
  CHECK(Work() == WorkOf{{"learner-b", {"learner 0 of a"}}});
  CHECK(pool.CountSlots().CanBegin(Needs("b", {on_device}, 2)).ok());
}

TEST_CASE_METHOD(PoolFixture, "workers of an earlier hub keep their seats", "[unit]") {
  Worker("actor-x", WorkerKind::kActor);
  Hold("actor-x", {7, "a", Role::kActor, 1, "/out/a"});
  Worker("actor-y", WorkerKind::kActor);
  pool.Begin(Needs("a", {Actors(2, 2)}), {}, true);
  Round();
  CHECK(Work() == WorkOf{{"actor-x", {"actor 1 of a"}}});  // The other seats wait for workers that may come back.
  CHECK(OrdersOf("actor-x")[0].number == 7);
  for (int i = 0; i < 5; ++i) {
    Round();
  }
  CHECK(Work().at("actor-y") == std::vector<std::string>{"actor 0 of a"});

  SECTION("but not of an experiment that does not run any more") {
    workers.at("actor-y").clear_held();
    Hold("actor-y", {8, "gone", Role::kActor, 0, ""});
    REQUIRE_OK(pool.Attend(workers.at("actor-y"), now));
    CHECK(pool.FindMember("actor-y")->HasNews());
  }
}

TEST_CASE_METHOD(PoolFixture, "workers of an earlier hub keep their seats if the experiment goes on later", "[unit]") {
  SeatGroup shards{Role::kReplayServer, WorkerKind::kReplayServer, 1, 1};
  shards.distinct = true;
  shards.keeps = true;
  Worker("replay-b", WorkerKind::kReplayServer);
  Worker("actor-y", WorkerKind::kActor);
  while (now - absl::UnixEpoch() < 2 * WorkerPoolOptions().storage_patience) {
    Round();
  }
  pool.Begin(Needs("a", {shards, Actors(1, 1)}), {{0, "disk-x"}}, true);
  Round();
  CHECK(Work().empty());
  Worker("actor-x", WorkerKind::kActor);
  Hold("actor-x", {7, "a", Role::kActor, 0, "/out/a"});
  Worker("replay-x", WorkerKind::kReplayServer).set_storage_id("disk-x");
  for (int i = 0; i < 6; ++i) {
    Round();
  }
  CHECK(Work() == WorkOf{{"actor-x", {"actor 0 of a"}}, {"replay-x", {"replay-server 0 of a"}}});
}

TEST_CASE_METHOD(PoolFixture, "an experiment that is over gives no seats and ends after its workers", "[unit]") {
  Worker("actor-x", WorkerKind::kActor);
  Worker("replay-x", WorkerKind::kReplayServer);
  pool.Begin(Needs("a", {{Role::kReplayServer, WorkerKind::kReplayServer}, Actors(1, 2)}), {}, false);
  Round();
  pool.Close("a");
  Worker("actor-y", WorkerKind::kActor);
  Round();
  CHECK(Count("actor") == 1);
  CHECK(pool.FindRun("a")->Working() == 1);
  workers.at("actor-x").mutable_held(0)->set_ended(true);
  Round();
  CHECK(pool.FindRun("a")->Working() == 0);  // A replay server stays until End.
  CHECK(Count("replay-server 0 of a") == 1);
  pool.End("a");
  CHECK(pool.FindMember("replay-x")->HasNews());
  CHECK(Work().empty());
}

TEST_CASE_METHOD(PoolFixture, "a process with a wrong request is refused", "[unit]") {
  const auto refused = [this](const std::function<void(v1::AttendRequest*)>& change) {
    v1::AttendRequest attendance = Worker("actor-x", WorkerKind::kActor);
    change(&attendance);
    return absl::IsInvalidArgument(pool.Attend(attendance, now));
  };
  CHECK(refused([](v1::AttendRequest* a) { a->set_worker_id("a b"); }));
  CHECK(refused([](v1::AttendRequest* a) { a->set_address("nowhere"); }));
  CHECK(refused([](v1::AttendRequest* a) { a->set_capacity(0); }));
  CHECK(refused([](v1::AttendRequest* a) { a->set_capacity(1'000'000); }));
  CHECK(refused([](v1::AttendRequest* a) { a->set_storage_id(std::string(10'000, 'x')); }));
  CHECK(refused([](v1::AttendRequest* a) {
    for (int i = 0; i < 100'000; ++i) {
      a->add_kept();
    }
  }));
  CHECK_FALSE(refused([](v1::AttendRequest* /*a*/) {}));
}

}  // namespace
}  // namespace waggle::testing
