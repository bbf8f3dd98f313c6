#include "common/config/experiment/family_defaults.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("an item is sampled often enough for one learner step per environment step", "[unit]") {
  Experiment experiment;
  OffPolicyDefaults(&experiment);
  const int64_t batch_size = experiment.learner.batch_size;
  const TableConfig table = experiment.replay.TableFor(batch_size);
  CHECK(table.rate_limiter.samples_per_insert == static_cast<double>(batch_size));
  REQUIRE_OK(table.CheckBatchSize(batch_size));
  REQUIRE_OK(table.ValidateSettings());
  CHECK(table.sampler.kind == SelectorKind::kUniform);
  // Actors can be only a few steps ahead: the limiter leaves that many batches open.
  CHECK(table.rate_limiter.error_buffer == 10 * static_cast<double>(batch_size));
}

TEST_CASE("a learner step takes an item of each lane from a queue, and its weights are published at once", "[unit]") {
  Experiment experiment;
  OnPolicyDefaults(&experiment);
  CHECK(experiment.learner.batch_size == kOneOfEachLane);
  CHECK_FALSE(experiment.learner.max_policy_lag.has_value());
  experiment.learner.batch_size = experiment.actor.lanes * experiment.actor.processes;
  CHECK(experiment.learner.publish_period_steps == 1);
  CHECK(experiment.actor.refresh_seconds == 0);
  REQUIRE_OK(experiment.replay.Validate());
  REQUIRE_OK(experiment.actor.Validate());
  REQUIRE_OK(experiment.learner.Validate());
  const TableConfig& table = experiment.replay.table;
  CHECK(table.sampler.kind == SelectorKind::kFifo);
  CHECK(table.max_times_sampled == 1);
  CHECK(table.rate_limiter.samples_per_insert == 1);
  // All lanes' rows fit while a learner step is under way.
  CHECK(table.max_items >= 2 * experiment.learner.batch_size);
}

}  // namespace
}  // namespace waggle
