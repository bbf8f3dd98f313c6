#include "param_server/run/run_totals.h"

#include <limits>
#include <string>

#include "param_server/run/worker_table.h"
#include "tests/param_server/run/hub_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

WorkerFigures Counters(const std::map<std::string, double>& counters) {
  return {"", counters, {}, absl::ZeroDuration(), ""};
}

WorkerFigures Gauge(const std::string& name, double value) {
  return {"", {}, {{name, value}}, absl::ZeroDuration(), ""};
}

TEST_CASE("Counters are added up over workers, by role, and older reports change nothing", "[unit]") {
  RunTotals totals;
  CHECK(totals.Report("a", Role::kReplayServer, Counters({{"items_inserted", 5}, {"other", 1}}), false));
  CHECK(totals.Report("b", Role::kReplayServer, Counters({{"items_inserted", 2}}), false));
  CHECK(totals.Report("a", Role::kReplayServer, Counters({{"items_inserted", 6}}), false));
  CHECK_FALSE(totals.Report("a", Role::kReplayServer, Counters({{"items_inserted", 4}}), false));
  CHECK_FALSE(totals.Report("e", Role::kEvaluator, Counters({{"items_inserted", 4}}), false));
  CHECK(totals.Report("p", Role::kActor, Counters({{"gradients_pushed", 0}}), false));  // A counter of 0 is kept too.
  CHECK(totals.all == std::map<std::string, double>{{"replay/items_inserted", 8}, {"actor/gradients_pushed", 0}});
  totals.KeepOnly([](const std::string& worker_id) { return worker_id == "b"; });
  CHECK(totals.of.size() == 1);
  CHECK(totals.all.at("replay/items_inserted") == 8);
}

TEST_CASE("The earliest first step and the largest lag are kept", "[unit]") {
  RunTotals totals;
  const std::string first = "first_env_step_unix_seconds";
  CHECK_FALSE(totals.Report("a", Role::kActor, Gauge(first, 0), false));
  CHECK(totals.Report("a", Role::kActor, Gauge(first, 20), false));
  CHECK(totals.Report("b", Role::kActor, Gauge(first, 10), false));
  CHECK_FALSE(totals.Report("c", Role::kActor, Gauge(first, 30), false));
  CHECK_FALSE(
      totals.Report("l", Role::kLearner, Gauge("policy_lag_max", std::numeric_limits<double>::quiet_NaN()), false));
  CHECK(totals.Report("l", Role::kLearner, Gauge("policy_lag_max", 0), false));
  CHECK(totals.Report("l", Role::kLearner, Gauge("policy_lag_max", 9), false));
  CHECK_FALSE(totals.Report("m", Role::kLearner, Gauge("policy_lag_max", 3), false));
  CHECK(totals.all ==
        std::map<std::string, double>{{"actor/first_env_step_unix_seconds", 10}, {"learner/policy_lag_max", 9}});
}

TEST_CASE("A restarted hub counts nothing twice, and marks counts that it did not see", "[unit]") {
  testing::HubFixture fixture;
  const auto beat = [&fixture](double steps, double pushed) {
    WorkerReport report = fixture.Report("a", steps);
    report.figures.counters["gradients_pushed"] = pushed;
    REQUIRE_OK(fixture.hub->Heartbeat(report));
  };
  fixture.Join("a", Role::kActor);
  beat(10, 4);
  fixture.Restart();
  CHECK(fixture.hub->Overview().totals.all.at("actor/gradients_pushed") == 4);
  fixture.Join("a", Role::kActor);
  beat(15, 6);
  beat(18, 7);
  HubOverview overview = fixture.hub->Overview();
  CHECK(overview.env_steps == 18);
  CHECK(overview.totals.all.at("actor/gradients_pushed") == 7);
  CHECK(overview.totals.unseen.at("actor/gradients_pushed") == 2);
  CHECK(overview.totals.unseen.at("actor/env_steps") == 5);
  fixture.Restart();
  overview = fixture.hub->Overview();
  CHECK(overview.totals.all.at("actor/gradients_pushed") == 7);
  CHECK(overview.totals.unseen.at("actor/env_steps") == 5);
}

}  // namespace
}  // namespace waggle
