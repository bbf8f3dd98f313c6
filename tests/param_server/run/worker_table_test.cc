#include "param_server/run/worker_table.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

// Gives a worker the order for a seat.
void Order(WorkerTable* table, const std::string& worker_id, int64_t index, Role role = Role::kActor) {
  table->Order({worker_id, role, /*process_id=*/77, "h", ""}, index, kStart);
}

// Gives a worker an order and seats it.
absl::Status Join(WorkerTable* table, const std::string& worker_id, int64_t index, Role role = Role::kActor,
                  const std::string& address = "") {
  Order(table, worker_id, index, role);
  return table->Join({worker_id, address, 0, {}}, kStart).status();
}

WorkerFigures Figures(absl::Duration taken_at, double env_steps) {
  WorkerFigures figures;
  figures.taken_at = taken_at;
  figures.counters = {{"env_steps", env_steps}};
  return figures;
}

TEST_CASE("A worker has the seat of its order, and no seat without an order", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_CODE(table.Join({"a", "", 0, {}}, kStart), absl::StatusCode::kUnavailable);
  Order(&table, "a", 3);
  CHECK(table.OrderedRole("a") == Role::kActor);
  CHECK(table.Find("a") == nullptr);
  CHECK(table.CheckSeated("a").code() == absl::StatusCode::kNotFound);
  CHECK(table.Overview(kStart).empty());
  const WorkerView* const joined = ValueOf(table.Join({"a", "", 5, 6}, kStart));
  CHECK(joined->index == 3);
  CHECK(joined->epoch == 5);
  CHECK(joined->life == 6);
  CHECK(joined->introduction.process_id == 77);
  REQUIRE_OK(Join(&table, "l", 3, Role::kLearner));
  CHECK(table.CountSeated() == 2);
  CHECK(table.HolderOf(Role::kActor, 3) == "a");
  CHECK(table.HolderOf(Role::kActor, 0).empty());
  table.Leave("a", kStart);
  table.Leave("unknown", kStart);
  CHECK_FALSE(table.OrderedRole("a").has_value());
  REQUIRE_CODE(table.Join({"a", "", 0, {}}, kStart), absl::StatusCode::kUnavailable);
}

TEST_CASE("A worker that joins again keeps its seat, and its figures begin again", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(Join(&table, "a", 1));
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(1), 5), kStart));
  CHECK(ValueOf(table.Join({"a", "h:7001", 0, {}}, kStart))->index == 1);
  CHECK(table.CountSeated() == 1);
  CHECK(table.CountAlive(Role::kActor) == 1);
  CHECK_FALSE(table.Overview(kStart)[0].current);
  CHECK(table.Addresses(Role::kActor) == std::vector<std::string>{"", "h:7001"});
}

TEST_CASE("A worker that is away is not alive, and is gone once another has its seat", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(Join(&table, "a", 0));
  const absl::Time later = kStart + absl::Seconds(10);
  table.SetAway("a");
  table.SetAway("unknown");
  CHECK(table.Alive(Role::kActor).empty());
  CHECK_FALSE(table.Overview(later)[0].alive);
  CHECK_FALSE(table.Overview(later)[0].gone);
  CHECK(table.Overview(later)[0].silent == absl::Seconds(10));
  Order(&table, "b", 0);
  REQUIRE_OK(table.Join({"b", "", 0, {}}, later));
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

TEST_CASE("A worker that was dismissed may not come back, and is told why", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(Join(&table, "a", 1));
  table.Leave("a", kStart, "it was silent");
  const absl::Status refused = table.Heartbeat("a", WorkerFigures(), kStart);
  CHECK(refused == absl::AlreadyExistsError("it was silent"));
  CHECK(table.CheckSeated("a") == refused);
  CHECK(table.Join({"a", "", 0, {}}, kStart).status() == refused);
  REQUIRE_OK(Join(&table, "a2", 1));
  CHECK(table.Join({"a", "", 0, {}}, kStart).status() == refused);
  CHECK(table.Find("a2") != nullptr);
}

TEST_CASE("Addresses are by index, also of workers that are gone", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  CHECK(table.Addresses(Role::kReplayServer).empty());
  const auto join = [&table](const std::string& id, int64_t index, const std::string& address) {
    return Join(&table, id, index, Role::kReplayServer, address);
  };
  REQUIRE_OK(join("r1", 1, "h:7001"));
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{"", "h:7001"});
  REQUIRE_OK(join("r0", 0, "h:7000"));
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{"h:7000", "h:7001"});
  table.Leave("r0", kStart);
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{"h:7000", "h:7001"});
  // It is back at another address.
  REQUIRE_OK(join("r2", 0, "h:7002"));
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{"h:7002", "h:7001"});
  // Another worker serves at the address of one that is gone.
  table.Leave("r1", kStart);
  REQUIRE_OK(join("r3", 2, "h:7001"));
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{"h:7002", "", "h:7001"});
  CHECK(table.Addresses(Role::kActor).empty());
}

TEST_CASE("Rates are over the last heartbeats, also if they come close together", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(Join(&table, "a", 0));
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
  // A heartbeat that was overtaken changes nothing.
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(1), steps), kStart));
  CHECK(table.Overview(kStart)[0].rates->at("env_steps") == Approx(1'000));
  CHECK(table.Overview(kStart + absl::Hours(1))[0].rates->empty());
}

TEST_CASE("Rates are over the time since the first event, and not known before another heartbeat", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(Join(&table, "a", 0));
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

TEST_CASE("Figures are current for two heartbeats, and a worker that is silent for longer has no rates", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(Join(&table, "a", 0));
  CHECK_FALSE(table.Overview(kStart)[0].current);  // It has not reported yet.
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

TEST_CASE("After a silence rates begin again", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(Join(&table, "a", 0));
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(0), 0), kStart));
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(1), 100), kStart));
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(60), 100), kStart));
  CHECK(table.Overview(kStart)[0].rates->empty());
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(61), 200), kStart));
  CHECK(table.Overview(kStart)[0].rates->at("env_steps") == Approx(100));
}

TEST_CASE("An address where no worker can serve is refused", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  Order(&table, "a", 0);
  for (const char* const address : {"nowhere", "0.0.0.0:7001"}) {
    REQUIRE_CODE(table.Join({"a", address, 0, {}}, kStart), absl::StatusCode::kInvalidArgument);
  }
  Order(&table, "serves", 0, Role::kReducer);
  REQUIRE_CODE(table.Join({"serves", "", 0, {}}, kStart), absl::StatusCode::kInvalidArgument);
  table.Leave("serves", kStart);
  CHECK(table.Overview(kStart).empty());
  // A replay server joins without one until its tables are those of the run.
  Order(&table, "replay", 0, Role::kReplayServer);
  REQUIRE_OK(table.Join({"replay", "", 0, {}}, kStart).status());
  CHECK(table.Addresses(Role::kReplayServer) == std::vector<std::string>{""});
}

TEST_CASE("Wrong figures are refused, and the old ones stay", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  REQUIRE_OK(Join(&table, "a", 0));
  REQUIRE_OK(table.Heartbeat("a", Figures(absl::Seconds(1), 5), kStart));
  std::vector<WorkerFigures> bad(6, Figures(absl::Seconds(2), 6));
  bad[5].counters["env_steps"] = 1e300;  // Too many steps.
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
  unknown_loss.gauges["loss"] = std::numeric_limits<double>::quiet_NaN();  // A gauge may be NaN.
  CHECK(table.Heartbeat("a", unknown_loss, kStart) == absl::OkStatus());
}

TEST_CASE("The count of living workers matches a count over all", "[unit]") {
  WorkerTable table((WorkerTableOptions()));
  Rng rng(7);
  int64_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Role role = rng.UniformInt(4) == 0 ? Role::kEvaluator : Role::kActor;
    const auto index = static_cast<int64_t>(rng.UniformInt(30));
    const std::string worker_id = absl::StrCat(RoleName(role), index);
    switch (rng.UniformInt(8)) {
      case 0:
      case 1:
        REQUIRE_OK(Join(&table, worker_id, index, role));
        break;
      case 2:
        table.Leave(worker_id, kStart);
        break;
      case 3:
        table.SetAway(worker_id);
        break;
      default:
        static_cast<void>(table.Join({worker_id, "", 0, {}}, kStart));
    }
    const std::vector<WorkerView> everybody = table.Overview(kStart);
    for (const Role each : {Role::kActor, Role::kEvaluator, Role::kLearner}) {
      const auto alive = std::count_if(everybody.begin(), everybody.end(), [each](const WorkerView& worker) {
        return worker.alive && worker.introduction.role == each;
      });
      REQUIRE(table.CountAlive(each) == alive);
      REQUIRE(static_cast<int64_t>(table.Alive(each).size()) == alive);
      most = std::max<int64_t>(most, alive);
    }
  }
  CHECK(most > 5);
}

TEST_CASE("Workers that are gone are shown up to a limit", "[unit]") {
  WorkerTableOptions options;
  options.max_gone = 3;
  WorkerTable table(options);
  for (int i = 0; i < 10; ++i) {
    REQUIRE_OK(Join(&table, absl::StrCat("gone", i), 0));
    table.Leave(absl::StrCat("gone", i), kStart);
  }
  CHECK(table.Overview(kStart).size() == 3);
}

}  // namespace
}  // namespace waggle
