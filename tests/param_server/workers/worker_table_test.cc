#include "param_server/workers/worker_table.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/random.h"
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
  CHECK_FALSE(table.Overview(later)[0].gone);
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
    CHECK(overview[0].gone);
    CHECK(overview[1].alive);
    CHECK_FALSE(overview[1].gone);
  }
}

WorkerIntroduction Named(const std::string& worker_id, int64_t own_index, const std::string& host = "h") {
  WorkerIntroduction introduction = Worker(worker_id);
  introduction.own_index = own_index;
  introduction.host = host;
  introduction.process_id = 77;
  return introduction;
}

TEST_CASE("A killed worker that is started again has its own index back long before it counts as silent", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  CHECK(ValueOf(table.Join(Named("a", 1), 0, kStart)) == 1);
  CHECK(ValueOf(table.Join(Worker("b"), 0, kStart)) == 0);
  const absl::Time restart = kStart + absl::Seconds(1.5);
  CHECK(table.Join(Named("a2", 1), 0, restart).status().code() == absl::StatusCode::kUnavailable);
  const absl::Time later = kStart + absl::Seconds(3.1);
  CHECK(ValueOf(table.Join(Named("a2", 1), 0, later)) == 1);
  CHECK(table.Alive(Role::kActor, later).size() == 2);

  // Should the first live all the same, it must not come back.
  const absl::Status replaced = table.Heartbeat("a", WorkerFigures(), later);
  CHECK(replaced.code() == absl::StatusCode::kAlreadyExists);
  CHECK_THAT(std::string(replaced.message()), Catch::Contains("this actor 1, process 77 on h, was silent"));
  CHECK(table.Join(Named("a", 1), 0, later + absl::Hours(1)).status() == replaced);
  CHECK(table.Find("a2") != nullptr);
}

TEST_CASE("Of two living workers with one index the second is refused, and the first notices nothing", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(table.Join(Named("a", 1), 0, kStart));
  REQUIRE_OK(table.Heartbeat("a", WorkerFigures(), kStart));
  CHECK(table.Join(Named("b", 1), 0, kStart).status().code() == absl::StatusCode::kUnavailable);
  CHECK(table.Join(Named("b", 1), 0, kStart).status().code() == absl::StatusCode::kUnavailable);
  REQUIRE_OK(table.Heartbeat("a", WorkerFigures(), kStart + absl::Seconds(1)));
  const absl::Status refused = table.Join(Named("b", 1), 0, kStart + absl::Seconds(1)).status();
  CHECK(refused.code() == absl::StatusCode::kAlreadyExists);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("actor 1 is process 77 on h, which is alive"));
  CHECK(table.Join(Named("c", 1), 0, kStart + absl::Seconds(1)).status().code() == absl::StatusCode::kUnavailable);
  CHECK(ValueOf(table.Join(Named("a", 1), 0, kStart)) == 1);  // As after the hub was away.
}

TEST_CASE("On another host an own index is free once its worker counts as silent", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(table.Join(Named("a", 1), 0, kStart));
  CHECK_FALSE(table.Join(Named("b", 1, "g"), 0, kStart + absl::Seconds(9)).ok());
  CHECK(ValueOf(table.Join(Named("b", 1, "g"), 0, kStart + absl::Seconds(11))) == 1);
}

TEST_CASE("A worker that only happened to get an index keeps it from the one that was named it while it lives",
          "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  CHECK(ValueOf(table.Join(Worker("a"), 0, kStart)) == 0);
  CHECK(table.Join(Named("b", 0), 0, kStart).status().code() == absl::StatusCode::kUnavailable);
  REQUIRE_OK(table.Heartbeat("a", WorkerFigures(), kStart + absl::Seconds(1)));
  CHECK(table.Join(Named("b", 0), 0, kStart + absl::Seconds(1)).status().code() == absl::StatusCode::kAlreadyExists);
  CHECK(ValueOf(table.Join(Named("c", 0), 0, kStart + absl::Minutes(1))) == 0);
  CHECK(ValueOf(table.Join(Worker("a"), 0, kStart + absl::Minutes(1))) == 1);
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

TEST_CASE("Addresses are by index, of those that are gone too", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  CHECK(table.Addresses(Role::kReplayServer).empty());
  const auto join = [&table](const std::string& id, int64_t index, const std::string& address, absl::Time now) {
    WorkerIntroduction replay = Named(id, index);
    replay.role = Role::kReplayServer;
    replay.address = address;
    return table.Join(replay, 0, now).status();
  };
  REQUIRE_OK(join("r1", 1, "h:7001", kStart));
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{"", "h:7001"});
  REQUIRE_OK(join("r0", 0, "h:7000", kStart));
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{"h:7000", "h:7001"});
  table.Leave("r0", kStart);
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{"h:7000", "h:7001"});
  // It is back elsewhere.
  REQUIRE_OK(join("r2", 0, "h:7002", kStart));
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{"h:7002", "h:7001"});
  // Another one serves where one that is gone did.
  table.Leave("r1", kStart);
  REQUIRE_OK(join("r3", 2, "h:7001", kStart));
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{"h:7002", "", "h:7001"});
  CHECK(table.Addresses(Role::kActor).empty());
}

TEST_CASE("Rates are over the last heartbeats, however close these are", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(table.Join(Worker("a"), 0, kStart));
  CHECK(table.Overview(kStart)[0].rates->empty());
  // A hundred steps a second for 20 s, then a thousand a second; heartbeats every 100 ms.
  double steps = 0;
  for (int i = 0; i < 300; ++i) {
    steps += i < 200 ? 10 : 100;
    REQUIRE_OK(table.Heartbeat("a", Figures(absl::Milliseconds(100) * i, steps), kStart));
    if (i == 199) {
      CHECK(table.Overview(kStart)[0].rates->at("env_steps") == Approx(100));
    }
  }
  CHECK(table.Overview(kStart)[0].rates->at("env_steps") == Approx(1'000));
  // A heartbeat that was overtaken does not turn time back.
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(1), steps), kStart));
  CHECK(table.Overview(kStart)[0].rates->at("env_steps") == Approx(1'000));
  CHECK(table.Overview(kStart + absl::Hours(1))[0].rates->empty());
}

TEST_CASE("Rates are over the time since the first event, and not known before another heartbeat", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(table.Join(Worker("a"), 0, kStart));
  const double steps[] = {0, 0, 0, 50, 1'050, 2'050};  // The first ones just before the fourth heartbeat.
  for (int i = 0; i < 6; ++i) {
    REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(i), steps[i]), kStart));
    const std::map<std::string, double> rates = *table.Overview(kStart)[0].rates;
    if (i == 1 || i == 2) {
      CHECK(rates.at("env_steps") == 0);
    } else if (i == 3) {
      CHECK(rates.count("env_steps") == 0);
    } else if (i > 3) {
      CHECK(rates.at("env_steps") == Approx(1'000));
    }
  }
}

TEST_CASE("Figures are of now for two heartbeats, and a worker that is silent for longer has no rates", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(table.Join(Worker("a"), 0, kStart));
  CHECK_FALSE(table.Overview(kStart)[0].current);  // It has said nothing yet.
  for (int i = 0; i < 3; ++i) {
    REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(i), 100 * i), kStart + absl::Seconds(i)));
  }
  const auto at = [&table](double seconds) { return table.Overview(kStart + absl::Seconds(seconds))[0]; };
  CHECK(at(4).current);
  CHECK(at(4).rates->at("env_steps") == Approx(100));
  CHECK(at(4.5).alive);
  CHECK_FALSE(at(4.5).current);
  CHECK(at(4.5).rates->empty());
  CHECK(at(4.5).figures->counters.at("env_steps") == 200);
}

TEST_CASE("After a silence rates are of what comes after it", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(table.Join(Worker("a"), 0, kStart));
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(0), 0), kStart));
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(1), 100), kStart));
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(60), 100), kStart));
  CHECK(table.Overview(kStart)[0].rates->empty());
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(61), 200), kStart));
  CHECK(table.Overview(kStart)[0].rates->at("env_steps") == Approx(100));
}

TEST_CASE("A bad introduction is refused", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  WorkerIntroduction bad = Worker("");
  CHECK(table.Join(bad, 0, kStart).status().code() == absl::StatusCode::kInvalidArgument);
  bad = Worker("a");
  bad.address = "nowhere";
  CHECK_THAT(std::string(table.Join(bad, 0, kStart).status().message()), Catch::Contains("address: \"nowhere\""));
  bad.address = "0.0.0.0:7001";
  CHECK_THAT(std::string(table.Join(bad, 0, kStart).status().message()), Catch::Contains("every address"));
  bad = Worker("a");
  bad.host = std::string(1'000, 'x');
  CHECK(table.Join(bad, 0, kStart).status().code() == absl::StatusCode::kInvalidArgument);
  bad = Named("a", 10'000);
  CHECK_THAT(std::string(table.Join(bad, 0, kStart).status().message()), Catch::Contains("own_index: 10000 is not in"));
  bad = Worker("a");
  bad.index = 4'000'000'000;
  CHECK(table.Join(bad, 0, kStart).status().code() == absl::StatusCode::kInvalidArgument);
  bad = Worker("a", Role::kReplayServer);
  CHECK_THAT(std::string(table.Join(bad, 0, kStart).status().message()), Catch::Contains("must say where it serves"));
  CHECK(table.Overview(kStart).empty());
}

TEST_CASE("Figures that cannot be are refused, and the old ones stay", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(table.Join(Worker("a"), 0, kStart));
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(1), 5), kStart));
  std::vector<WorkerFigures> bad(6, Figures(absl::Seconds(2), 6));
  bad[5].counters["env_steps"] = 1e300;  // Its number of steps is none.
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
  CHECK(table.Find("a")->figures->counters.at("env_steps") == 5);
  WorkerFigures unknown_loss = Figures(absl::Seconds(2), 6);
  unknown_loss.gauges["loss"] = std::numeric_limits<double>::quiet_NaN();  // A momentary value may be none.
  CHECK(table.Heartbeat("a", unknown_loss, kStart) == absl::OkStatus());
}

TEST_CASE("The count of those alive is what looking at everybody gives", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  Rng rng(7);
  absl::Time now = kStart;
  int64_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Role role = rng.UniformInt(4) == 0 ? Role::kEvaluator : Role::kActor;
    const std::string worker_id = absl::StrCat(RoleName(role), rng.UniformInt(30));
    switch (rng.UniformInt(6)) {
      case 0:
        REQUIRE_OK(table.Join(Worker(worker_id, role), 0, now));
        break;
      case 1:
        table.Leave(worker_id, now);
        break;
      case 2:
        now += absl::Milliseconds(static_cast<int64_t>(rng.UniformInt(2'000)));
        break;
      default:
        static_cast<void>(table.Heartbeat(worker_id, WorkerFigures(), now));
    }
    const std::vector<WorkerView> everybody = table.Overview(now);
    for (const Role each : {Role::kActor, Role::kEvaluator, Role::kLearner}) {
      const auto alive = std::count_if(everybody.begin(), everybody.end(), [each](const WorkerView& worker) {
        return worker.alive && worker.introduction.role == each;
      });
      REQUIRE(table.CountAlive(each, now) == alive);
      REQUIRE(static_cast<int64_t>(table.Alive(each, now).size()) == alive);
      most = std::max<int64_t>(most, alive);
    }
  }
  CHECK(most > 5);
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
