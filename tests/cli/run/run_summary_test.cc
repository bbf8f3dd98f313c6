#include "cli/run/run_summary.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::PushingSnapshot;
using ::waggle::testing::SampleSnapshot;
using Json = nlohmann::ordered_json;

absl::Time At(double seconds) {
  return absl::FromUnixSeconds(1'000'000) + absl::Seconds(seconds);
}

TEST_CASE("The summary has every key that is promised", "[unit]") {
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

TEST_CASE("Rates are means over the time of the run", "[unit]") {
  SummaryBuilder builder(At(0));
  RunFacts facts = GatherFacts(SampleSnapshot());
  builder.Add(facts);
  facts.state = RunState::kSolved;
  facts.items_inserted += 2'000;
  builder.Add(facts);
  RunSummary summary;
  builder.Fill(&summary);
  CHECK(summary.wall_seconds == 10);
  CHECK(summary.env_steps == 198'432);
  CHECK(summary.learner_steps == 12'345);
  CHECK(summary.seconds_to_first_env_step == Approx(1.25));
  CHECK(summary.env_steps_per_s == Approx(198'432 / 10.0));
  CHECK(summary.items_inserted_per_s == Approx(200'000 / 10.0));
  CHECK(summary.items_sampled_per_s == Approx(3'160'000 / 10.0));
  CHECK(summary.learner_steps_per_s == Approx(12'345 / 10.0));
}

TEST_CASE("What a stopped server has said stands", "[unit]") {
  SummaryBuilder builder(At(0));
  builder.Add(GatherFacts(SampleSnapshot()));
  ClusterSnapshot last = SampleSnapshot();
  last.replay_servers.clear();
  last.overview.mutable_workers()->DeleteSubrange(0, 2);
  builder.Add(GatherFacts(last));
  RunSummary summary;
  builder.Fill(&summary);
  CHECK(summary.items_inserted_per_s > 0);
  CHECK(summary.seconds_to_first_env_step == Approx(1.25));
}

TEST_CASE("The last look at a run has the means of its summary and the last return that was known", "[unit]") {
  SummaryBuilder builder(At(0));
  builder.Add(GatherFacts(SampleSnapshot()));
  ClusterSnapshot last = SampleSnapshot();
  last.overview.clear_figures();
  last.overview.set_run_state(v1::RUN_STATE_SOLVED);
  last.overview.set_env_steps(200'000);
  builder.Add(GatherFacts(last));
  RunSummary summary;
  CHECK_FALSE(SummaryBuilder(At(0)).LastFacts(summary).has_value());
  builder.Fill(&summary);
  const std::optional<RunFacts> facts = builder.LastFacts(summary);
  REQUIRE(facts.has_value());
  CHECK(facts->state == RunState::kSolved);
  CHECK(facts->env_steps == 200'000);
  CHECK(facts->env_steps_per_s == 20'000.0);
  CHECK(facts->items_sampled_per_s == summary.items_sampled_per_s);
  CHECK(facts->learner_steps_per_s == summary.learner_steps_per_s);
  CHECK(facts->policy_lag_mean == 30.0);
  CHECK(facts->policy_lag_max == 80.0);
  CHECK(facts->training_return == 250.0);
}

TEST_CASE("Policy lag is the mean over all items, however often it was asked for, and the largest", "[unit]") {
  SummaryBuilder builder(At(0));
  RunFacts facts;
  builder.Add(facts);
  facts.policy_lag_sum = 100;
  facts.items_learned = 10;
  facts.policy_lag_mean = 10;
  facts.policy_lag_max = 90;
  builder.Add(facts);
  builder.Add(facts);
  facts.policy_lag_sum = 2'000;
  facts.items_learned = 100;
  facts.items_too_old = 7;
  facts.policy_lag_mean = 25;
  facts.policy_lag_max = 40;
  builder.Add(facts);
  builder.Add(RunFacts());  // The learner has left.
  RunSummary summary;
  builder.Fill(&summary);
  CHECK(summary.policy_lag_mean == 20.0);
  CHECK(summary.policy_lag_max == 90.0);
  CHECK(summary.items_too_old == 7);
}

TEST_CASE("Every gradient that was pushed is told with what became of it, also those of actors that are gone",
          "[unit]") {
  SummaryBuilder builder(At(0));
  builder.Add(GatherFacts(PushingSnapshot()));
  ClusterSnapshot last = PushingSnapshot();
  last.overview.mutable_workers()->DeleteSubrange(0, 1);  // The hub has forgotten one.
  builder.Add(GatherFacts(last));
  last.overview.clear_workers();
  builder.Add(GatherFacts(last));
  RunSummary summary;
  builder.Fill(&summary);
  const Json json = Json::parse(summary.ToJson());
  CHECK(json["gradients"] == Json({{"pushed", 1'200},
                                   {"applied", 1'187},
                                   {"refused", 8},
                                   {"refused_by_reason", {{"future", 2}, {"stale", 6}}},
                                   {"unanswered", 5},
                                   {"rolled_back", 40},
                                   {"sums_split", 3}}));
  CHECK(json["rates"]["gradients_pushed_per_s"].get<double>() > 0);
  CHECK(json["policy_lag"]["mean"].is_null());
  CHECK(builder.LastFacts(summary)->gradients->pushed_per_s == summary.gradients_pushed_per_s);
}

TEST_CASE("The result is what the hub said last", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  *snapshot.overview.mutable_result()->mutable_evaluation() = snapshot.overview.evaluations(0);
  SummaryBuilder builder(At(0));
  builder.Add(GatherFacts(snapshot));
  snapshot.overview.mutable_result()->set_confirmed(true);
  builder.Add(GatherFacts(snapshot));
  RunSummary summary;
  builder.Fill(&summary);
  const Json json = Json::parse(summary.ToJson());
  CHECK(json["result"]["mean_return"] == 412.5);
  CHECK(json["result"]["confirmed"] == true);
}

TEST_CASE("A run that nothing was heard of has an empty summary", "[unit]") {
  RunSummary summary;
  SummaryBuilder(At(0)).Fill(&summary);
  CHECK(summary.env_steps == 0);
  CHECK_FALSE(summary.result.has_value());
}

}  // namespace
}  // namespace waggle
