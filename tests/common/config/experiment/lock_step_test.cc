#include "common/config/experiment/lock_step.h"

#include "common/config/experiment/family_defaults.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("in lock-step the ratio and the batch give the number of steps", "[unit]") {
  ReplayOptions replay;
  replay.table.rate_limiter.samples_per_insert = 8;
  replay.table.rate_limiter.min_items = 50;
  TablePlan table;
  table.batch_size = 32;
  const LearnerQuota quota = QuotaInLockStep(replay, table);
  CHECK(quota.Steps(50) == 0);
  CHECK(quota.Steps(58) == 2);
  CHECK(quota.Steps(30) < 0);
  table.table.max_times_sampled = 1;
  CHECK(QuotaInLockStep(OnPolicyReplay(), table).Steps(64) == 2);
}

TEST_CASE("in lock-step a table takes every block, and gives no items before it has enough", "[unit]") {
  RateLimiterConfig limiter;
  limiter.samples_per_insert = 8;
  limiter.min_items = 50;
  limiter.max_difference = 1'000;
  limiter.min_difference = 10;
  const RateLimiterConfig open = LimiterInLockStep(limiter);
  CHECK(open.min_items == 50);
  CHECK(open.samples_per_insert == 0);
  CHECK_FALSE(open.max_difference.has_value());
}

TEST_CASE("lock-step is for one table, and a queue in it has room for a block", "[unit]") {
  Experiment experiment;
  experiment.algorithm = "some";
  experiment.actor.lanes = 4;
  experiment.actor.chunk_rows = 10;
  AlgorithmPlan plan;
  plan.tables.resize(1);
  plan.tables[0].batch_size = 8;
  plan.tables[0].table.max_items = 47;
  plan.tables[0].table.max_times_sampled = 1;
  REQUIRE_OK(CheckLockStep(experiment, plan));
  experiment.experiment.deterministic = true;
  CHECK(CheckLockStep(experiment, plan).message() ==
        "replay.max_items: 47: in a deterministic run a queue must hold a batch and an actor's block; "
        "wanted at least 48");
  plan.tables[0].table.max_items = 48;
  REQUIRE_OK(CheckLockStep(experiment, plan));
  plan.tables.resize(2);
  CHECK(CheckLockStep(experiment, plan).message() ==
        "experiment.deterministic: algorithm some learns from 2 tables; wanted one");
}

}  // namespace
}  // namespace waggle
