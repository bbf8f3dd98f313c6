#pragma once

#include "cli/status/cluster_client.h"
#include "tests/cli/fake_experiments.h"
#include "tests/common/hub/summary/sample_overview.h"
#include "tests/support/text_proto.h"

namespace waggle::testing {

// Two actors, a learner, a replay server and an evaluator in the middle of a run.
inline ClusterSnapshot SampleSnapshot() {
  ClusterSnapshot snapshot;
  snapshot.requested_at = absl::FromUnixSeconds(1'000'010);
  snapshot.info = RunningExperiment("pole-x7k2q");
  snapshot.overview = SampleOverview();
  ReplayServerState server;
  server.address = "127.0.0.1:4242";
  *server.tables.add_tables() = FromText<v1::TableInfo>(R"(
      config { name: "transitions" max_items: 50000 rate_limiter { samples_per_insert: 16 min_items: 1000 } }
      items: 40000 bytes: 1280000 items_inserted: 198000 items_sampled: 3160000)");
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
