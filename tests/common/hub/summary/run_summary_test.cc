#include "common/hub/summary/run_summary.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/common/hub/summary/sample_overview.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::PushingOverview;
using ::waggle::testing::SampleOverview;
using Json = nlohmann::ordered_json;

TEST_CASE("The summary has every promised key", "[unit]") {
  RunSummary summary;
  summary.experiment = "po\"le\n\xff";
  summary.algorithm = "apex_dqn";
  summary.environment = "CartPole-v1";
  summary.seed = 3;
  summary.id = "pole-x7k2q";
  summary.outcome = "solved";
  summary.env_steps = 38'000;
  summary.wall_seconds = 14.25;
  summary.processes.push_back({"actor", 2, 4711, 137, 101.5});
  const Json json = Json::parse(summary.ToJson());
  std::vector<std::string> keys;
  for (const auto& entry : json.items()) {
    keys.push_back(entry.key());
  }
  CHECK(keys == std::vector<std::string>{"id", "experiment", "algorithm", "environment", "seed", "outcome", "reason",
                                         "env_steps", "learner_steps", "wall_seconds", "seconds_to_first_env_step",
                                         "result", "rates", "policy_lag", "items_too_old", "gradients", "processes"});
  CHECK(json["experiment"] == "po\"le\n\xef\xbf\xbd");
  CHECK(json["outcome"] == "solved");
  CHECK(json["env_steps"] == 38'000);
  CHECK(json["env_steps"].is_number_integer());
  CHECK(json["seconds_to_first_env_step"].is_null());
  CHECK(json["result"].is_null());
  CHECK(json["rates"].size() == 4);
  CHECK(json["policy_lag"]["mean"].is_null());
  CHECK(json["gradients"].is_null());
  CHECK(json["processes"][0] ==
        Json({{"role", "actor"}, {"index", 2}, {"pid", 4711}, {"exit", 137}, {"peak_rss_mib", 101.5}}));
}

TEST_CASE("A summary names the software and the machine if they are known", "[unit]") {
  RunSummary summary;
  CHECK_FALSE(Json::parse(summary.ToJson()).contains("software"));
  CHECK_FALSE(Json::parse(summary.ToJson()).contains("machine"));
  summary.waggle_version = "1.2";
  summary.machine = "an abacus";
  CHECK(Json::parse(summary.ToJson())["software"] == Json{{"waggle", "1.2"}});
  CHECK(Json::parse(summary.ToJson())["machine"] == "an abacus");
}

TEST_CASE("A hub's overview of a run is in the summary, with means over the run's time", "[unit]") {
  v1::OverviewResponse overview = SampleOverview();
  auto& totals = *overview.mutable_totals();
  totals["replay/items_inserted"] = 200'000;
  totals["replay/items_sampled"] = 3'160'000;
  RunSummary summary;
  FillFromOverview(overview, absl::FromUnixSeconds(1'000'000), &summary);
  CHECK(summary.env_steps == 198'432);
  CHECK(summary.learner_steps == 12'345);
  CHECK(summary.seconds_to_first_env_step == Approx(1.25));
  CHECK(summary.env_steps_per_s == Approx(198'432 / 10.0));
  CHECK(summary.items_inserted_per_s == Approx(200'000 / 10.0));
  CHECK(summary.items_sampled_per_s == Approx(3'160'000 / 10.0));
  CHECK(summary.learner_steps_per_s == Approx(12'345 / 10.0));
  CHECK(summary.policy_lag_mean == 30.0);
  CHECK(summary.policy_lag_max == 80.0);
  CHECK(summary.items_too_old == 40);
  CHECK_FALSE(summary.result.has_value());
  overview.mutable_result()->set_confirmed(true);
  FillFromOverview(overview, absl::FromUnixSeconds(1'000'000), &summary);
  CHECK(Json::parse(summary.ToJson())["result"]["confirmed"] == true);
  RunSummary empty;
  FillFromOverview(v1::OverviewResponse(), absl::FromUnixSeconds(1'000'000), &empty);
  CHECK(empty.env_steps_per_s == 0);
  CHECK_FALSE(empty.seconds_to_first_env_step.has_value());
}

TEST_CASE("Work without a hub is in the totals, but not in the means over the time with one", "[unit]") {
  v1::OverviewResponse overview = SampleOverview();
  (*overview.mutable_totals())["replay/items_inserted"] = 200'000;
  (*overview.mutable_totals_unseen())["replay/items_inserted"] = 50'000;
  (*overview.mutable_totals_unseen())["actor/env_steps"] = 98'432;
  (*overview.mutable_totals_unseen())["learner/learner_steps"] = 345;
  RunSummary summary;
  FillFromOverview(overview, absl::FromUnixSeconds(1'000'000), &summary);
  CHECK(summary.env_steps == 198'432);
  CHECK(summary.env_steps_per_s == 10'000);
  CHECK(summary.items_inserted_per_s == 15'000);
  CHECK(summary.learner_steps_per_s == 1'200);
}

TEST_CASE("Every pushed gradient is counted with its outcome, also those of dead actors", "[unit]") {
  RunSummary summary;
  FillFromOverview(PushingOverview(), absl::FromUnixSeconds(1'000'000), &summary);
  const Json json = Json::parse(summary.ToJson());
  CHECK(json["gradients"] == Json({{"pushed", 1'200},
                                   {"applied", 1'187},
                                   {"refused", 8},
                                   {"refused_by_reason", {{"future", 2}, {"stale", 6}}},
                                   {"unanswered", 5},
                                   {"rolled_back", 40},
                                   {"sums_split", 3}}));
  CHECK(json["rates"]["gradients_pushed_per_s"] == 120.0);
  CHECK(json["policy_lag"]["mean"].is_null());
}

TEST_CASE("Gradients that learners push are counted beside the items that they learn from", "[unit]") {
  v1::OverviewResponse overview = testing::SampleOverview();
  (*overview.mutable_totals())["learner/gradients_pushed"] = 20;
  (*overview.mutable_totals())["learner/gradients_applied"] = 17;
  (*overview.mutable_totals())["learner/gradients_refused_stale"] = 2;
  RunSummary summary;
  FillFromOverview(overview, absl::FromUnixSeconds(1'000'000), &summary);
  const Json json = Json::parse(summary.ToJson());
  CHECK(json["gradients"]["pushed"] == 20);
  CHECK(json["gradients"]["refused_by_reason"] == Json({{"stale", 2}}));
  CHECK(json["gradients"]["unanswered"] == 1);
  CHECK(json["rates"]["gradients_pushed_per_s"] == 2.0);
  CHECK_FALSE(json["policy_lag"]["mean"].is_null());
}

}  // namespace
}  // namespace waggle
