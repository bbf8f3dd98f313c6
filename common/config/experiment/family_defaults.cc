#include "common/config/experiment/family_defaults.h"

#include <utility>

namespace waggle {

NetworkSpec Mlp(std::vector<int64_t> units) {
  NetworkSpec network;
  network.torso[0].units = std::move(units);
  return network;
}

void FreshDataDefaults(Experiment* experiment) {
  experiment->actor.chunk_rows = 8;
  experiment->actor.max_unacknowledged_blocks = 2;
  experiment->actor.refresh_seconds = 0.01;
  experiment->learner.prefetch_batches = 2;
}

void OffPolicyDefaults(Experiment* experiment) {
  FreshDataDefaults(experiment);
  TableConfig& table = experiment->replay.table;
  table.sampler.kind = SelectorKind::kUniform;
  table.max_items = 1'000'000;
  // In items: a batch's number makes one learner step for each environment step.
  table.rate_limiter.samples_per_insert = 256;
  experiment->learner.batch_size = 256;
  experiment->learner.publish_period_steps = 10;
  experiment->actor.lanes = 4;
  experiment->actor.chunk_rows = 4;
}

void OnPolicyDefaults(Experiment* experiment) {
  experiment->replay = OnPolicyReplay();
  experiment->actor.lanes = 16;
  experiment->actor.refresh_seconds = 0;
  experiment->learner.batch_size = kOneOfEachLane;
  experiment->learner.prefetch_batches = 1;
  experiment->learner.publish_period_steps = 1;
  // A learner step learns from hundreds of environment steps.
  experiment->learner.report_period_steps = 1;
  experiment->evaluation.period_steps = 10;
}

ReplayOptions OnPolicyReplay() {
  ReplayOptions replay;
  replay.table.sampler.kind = SelectorKind::kFifo;
  replay.table.max_items = 1'024;
  replay.table.max_times_sampled = 1;
  replay.table.rate_limiter.samples_per_insert = 1;
  replay.table.rate_limiter.min_items = 1;
  return replay;
}

}  // namespace waggle
