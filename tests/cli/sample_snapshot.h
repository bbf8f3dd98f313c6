#pragma once

#include "cli/status/cluster_client.h"
#include "tests/cli/fake_experiments.h"
#include "tests/common/hub/summary/sample_overview.h"

namespace waggle::testing {

// Two actors, a learner, a replay server and an evaluator in the middle of a run.
inline ClusterSnapshot SampleSnapshot() {
  ClusterSnapshot snapshot;
  snapshot.requested_at = absl::FromUnixSeconds(1'000'010);
  snapshot.info = RunningExperiment("pole-x7k2q");
  snapshot.overview = SampleOverview();
  ReplayServerState server;
  server.address = "127.0.0.1:4242";
  v1::TableInfo* table = server.tables.add_tables();
  table->mutable_config()->set_name("transitions");
  table->mutable_config()->set_max_items(50'000);
  table->mutable_config()->mutable_rate_limiter()->set_samples_per_insert(16);
  table->mutable_config()->mutable_rate_limiter()->set_min_items(1'000);
  table->set_items(40'000);
  table->set_bytes(1'280'000);
  table->set_items_inserted(198'000);
  table->set_items_sampled(3'160'000);
  snapshot.replay_servers.push_back(server);
  return snapshot;
}

// The same for a run whose actors push gradients: no tables, one actor gone, a primary instead of the learner.
inline ClusterSnapshot PushingSnapshot() {
  ClusterSnapshot snapshot = SampleSnapshot();
  snapshot.overview = PushingOverview();
  snapshot.replay_servers.clear();
  return snapshot;
}

}  // namespace waggle::testing
