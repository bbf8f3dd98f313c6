#include "cli/run/last_look.h"

#include <optional>

#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("The last look has the means of the summary, and the last reports of stopped processes", "[unit]") {
  RunSummary summary;
  CHECK_FALSE(LastLook().With(summary).has_value());
  LastLook look;
  look.Add(GatherFacts(testing::SampleSnapshot()));
  ClusterSnapshot last = testing::SampleSnapshot();
  last.replay_servers.clear();
  last.overview.clear_figures();
  last.overview.set_run_state(v1::RUN_STATE_SOLVED);
  last.overview.set_env_steps(200'000);
  look.Add(GatherFacts(last));
  summary.env_steps_per_s = 20'000;
  summary.items_sampled_per_s = 316'000;
  summary.policy_lag_mean = 30;
  const std::optional<RunFacts> facts = look.With(summary);
  REQUIRE(facts.has_value());
  CHECK(facts->state == RunState::kSolved);
  CHECK(facts->env_steps == 200'000);
  CHECK(facts->env_steps_per_s == 20'000.0);
  CHECK(facts->items_sampled_per_s == 316'000.0);
  CHECK(facts->policy_lag_mean == 30.0);
  CHECK(facts->training_return == 250.0);
  CHECK(facts->table_items == 40'000);
}

TEST_CASE("The last look at a run that pushes gradients has their mean rate", "[unit]") {
  LastLook look;
  look.Add(GatherFacts(testing::PushingSnapshot()));
  RunSummary summary;
  summary.gradients_pushed_per_s = 12;
  CHECK(look.With(summary)->gradients->pushed_per_s == 12.0);
}

}  // namespace
}  // namespace waggle
