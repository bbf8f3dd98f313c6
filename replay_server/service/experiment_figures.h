#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/metrics/metrics.h"
#include "common/base/threads/mutex.h"
#include "replay_server/store/replay_store.h"

namespace waggle {

// Sets the gauges that tables have to show together: sums of what Describe tells of each (items, bytes, memory_bytes,
// …; none without a table), and writers and writer_bytes, what these hold beside the tables.
void SetTableGauges(const std::vector<std::shared_ptr<Table>>& tables, const ReplayStore::WriterInfo& writers,
                    Metrics* metrics);

// What one experiment's tables have to show, kept up to date in metrics that are the experiment's alone. Thread-safe.
class ExperimentFigures {
 public:
  // What was inserted and sampled before this is not counted. The store and the metrics outlive this.
  ExperimentFigures(const ReplayStore* store, std::string experiment_id, Metrics* metrics);

  // Sets the gauges, and adds what has come since the last time to items_inserted and items_sampled: to be called
  // before the figures are sent.
  void Update() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Counted {
    std::weak_ptr<Table> table;  // Another one may get its name.
    int64_t inserted = 0;
    int64_t sampled = 0;
  };

  void CountLocked(const std::vector<std::shared_ptr<Table>>& tables, Metrics* metrics)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ReplayStore* const store_;
  const std::string experiment_id_;
  Metrics* const metrics_;
  Mutex mutex_;  // Held while figures are set: older ones never replace newer ones.
  std::vector<Counted> counted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
