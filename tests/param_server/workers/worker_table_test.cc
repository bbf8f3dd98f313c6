#include "param_server/workers/worker_table.h"

#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

WorkerIntroduction Worker(const std::string& worker_id, Role role = Role::kActor) {
  WorkerIntroduction introduction;
  introduction.worker_id = worker_id;
  introduction.role = role;
  introduction.host = "h";
  return introduction;
}

WorkerFigures Figures(absl::Duration taken_at, double env_steps) {
  WorkerFigures figures;
  figures.taken_at = taken_at;
  figures.counters = {{"env_steps", env_steps}};
  return figures;
}

TEST_CASE("A worker gets the lowest free index of its role", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  CHECK(ValueOf(table.Join(Worker("a"), 0, kStart)) == 0);
  CHECK(ValueOf(table.Join(Worker("b"), 0, kStart)) == 1);
  CHECK(ValueOf(table.Join(Worker("l", Role::kLearner), 0, kStart)) == 0);
  CHECK(ValueOf(table.Join(Worker("c"), 0, kStart)) == 2);
  table.Leave("b", kStart);
  table.Leave("nobody", kStart);
  CHECK(ValueOf(table.Join(Worker("d"), 0, kStart)) == 1);
  CHECK(ValueOf(table.Join(Worker("a"), 0, kStart)) == 0);  // It is here already and keeps its place.
  CHECK(table.Alive(Role::kActor, kStart).size() == 3);
}

TEST_CASE("A worker that joins again has its index back where it is free", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  WorkerIntroduction second = Worker("b");
  second.index = 1;
  CHECK(ValueOf(table.Join(second, 0, kStart)) == 1);
  CHECK(ValueOf(table.Join(Worker("a"), 0, kStart)) == 0);
  WorkerIntroduction also_second = Worker("c");
  also_second.index = 1;
  CHECK(ValueOf(table.Join(also_second, 0, kStart)) == 2);
}

TEST_CASE("A silent worker is not alive, and its seat can be taken", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(table.Join(Worker("a"), 0, kStart));
  const absl::Time later = kStart + absl::Seconds(10.1);
  CHECK(table.Alive(Role::kActor, kStart + absl::Seconds(10)).size() == 1);
  CHECK(table.Alive(Role::kActor, later).empty());
  CHECK_FALSE(table.Overview(later)[0].alive);
  CHECK(table.Overview(later)[0].silent == absl::Seconds(10.1));

  SECTION("It comes back") {
    REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(1), 5), later));
    CHECK(table.Alive(Role::kActor, later).size() == 1);
  }
  SECTION("It comes back when its seat has been given away") {
    CHECK(ValueOf(table.Join(Worker("b"), 0, later)) == 0);
    CHECK(table.Heartbeat("a", Figures(absl::Seconds(1), 5), later).code() == absl::StatusCode::kNotFound);
    CHECK(table.Find("a") == nullptr);
    const std::vector<WorkerView> overview = table.Overview(later);
    REQUIRE(overview.size() == 2);
    CHECK(overview[0].introduction.worker_id == "a");
    CHECK_FALSE(overview[0].alive);
    CHECK(overview[1].alive);
  }
}

TEST_CASE("A worker at the same host and address replaces the one before", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  WorkerIntroduction replay = Worker("r1", Role::kReplayServer);
  replay.address = "10.0.0.1:7001";
  REQUIRE_OK(table.Join(replay, 0, kStart));
  WorkerIntroduction elsewhere = replay;
  elsewhere.worker_id = "r2";
  elsewhere.host = "g";
  CHECK(ValueOf(table.Join(elsewhere, 0, kStart)) == 1);
  WorkerIntroduction restarted = replay;
  restarted.worker_id = "r3";
  CHECK(ValueOf(table.Join(restarted, 0, kStart)) == 0);
  const std::vector<const WorkerView*> alive = table.Alive(Role::kReplayServer, kStart);
  REQUIRE(alive.size() == 2);
  CHECK(alive[0]->introduction.worker_id == "r3");
  CHECK(table.Find("r1") == nullptr);
}

TEST_CASE("Rates are over the last heartbeats, however close these are", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(table.Join(Worker("a"), 0, kStart));
  CHECK(table.Overview(kStart)[0].rates.empty());
  // A hundred steps a second for 20 s, then a thousand a second; heartbeats every 100 ms.
  double steps = 0;
  for (int i = 0; i < 300; ++i) {
    steps += i < 200 ? 10 : 100;
    REQUIRE_OK(table.Heartbeat("a", Figures(absl::Milliseconds(100) * i, steps), kStart));
    if (i == 199) {
      CHECK(table.Overview(kStart)[0].rates.at("env_steps") == Approx(100));
    }
  }
  CHECK(table.Overview(kStart)[0].rates.at("env_steps") == Approx(1'000));
  // A heartbeat that was overtaken does not turn time back.
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(1), steps), kStart));
  CHECK(table.Overview(kStart)[0].rates.at("env_steps") == Approx(1'000));
  CHECK(table.Overview(kStart + absl::Hours(1))[0].rates.empty());
}

TEST_CASE("A bad introduction is refused", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  WorkerIntroduction bad = Worker("");
  CHECK(table.Join(bad, 0, kStart).status().code() == absl::StatusCode::kInvalidArgument);
  bad = Worker("a");
  bad.address = "nowhere";
  CHECK_THAT(std::string(table.Join(bad, 0, kStart).status().message()), Catch::Contains("address: \"nowhere\""));
  bad = Worker("a");
  bad.host = std::string(1'000, 'x');
  CHECK(table.Join(bad, 0, kStart).status().code() == absl::StatusCode::kInvalidArgument);
  bad = Worker("a", Role::kReplayServer);
  CHECK_THAT(std::string(table.Join(bad, 0, kStart).status().message()), Catch::Contains("must say where it serves"));
  CHECK(table.Overview(kStart).empty());
}

TEST_CASE("Figures that cannot be are refused, and the old ones stay", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(table.Join(Worker("a"), 0, kStart));
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(1), 5), kStart));
  std::vector<WorkerFigures> bad(5, Figures(absl::Seconds(2), 6));
  bad[0].counters["env_steps"] = -1;
  bad[1].counters["env_steps"] = std::numeric_limits<double>::quiet_NaN();
  bad[2].gauges["not a name"] = 1;
  bad[3].activity = std::string(10'000, 'x');
  for (int i = 0; i < 2'000; ++i) {
    bad[4].gauges["g" + std::to_string(i)] = 0;
  }
  for (const WorkerFigures& figures : bad) {
    CHECK(table.Heartbeat("a", figures, kStart).code() == absl::StatusCode::kInvalidArgument);
  }
  CHECK(table.Find("a")->figures.counters.at("env_steps") == 5);
  WorkerFigures unknown_loss = Figures(absl::Seconds(2), 6);
  unknown_loss.gauges["loss"] = std::numeric_limits<double>::quiet_NaN();  // A momentary value may be none.
  CHECK(table.Heartbeat("a", unknown_loss, kStart) == absl::OkStatus());
}

TEST_CASE("The table is bounded, alive or gone", "[unit]") {
  WorkerTableOptions options;
  options.max_workers = 2;
  options.max_gone = 3;
  WorkerTable table(options);
  for (int i = 0; i < 10; ++i) {
    REQUIRE_OK(table.Join(Worker("gone" + std::to_string(i)), 0, kStart));
    table.Leave("gone" + std::to_string(i), kStart);
  }
  CHECK(table.Overview(kStart).size() == 3);
  REQUIRE_OK(table.Join(Worker("a"), 0, kStart));
  REQUIRE_OK(table.Join(Worker("b"), 0, kStart));
  CHECK(table.Join(Worker("c"), 0, kStart).status().code() == absl::StatusCode::kResourceExhausted);
  CHECK(table.Join(Worker("c"), 0, kStart + absl::Hours(1)).ok());
}

}  // namespace
}  // namespace waggle
