#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/metrics/metrics.h"
#include "common/base/threads/mutex.h"
#include "replay_server/store/replay_store.h"

namespace waggle {

// Sets the gauges of tables: sums of the numbers that Describe has for each (items, bytes, memory_bytes, …; absent
// without a table), the number of writers, and writer_bytes, the bytes that writers hold beside the tables.
void SetTableGauges(const std::vector<std::shared_ptr<Table>>& tables, const ReplayStore::WriterInfo& writers,
                    Metrics* metrics);

// The figures of one experiment's tables, in metrics of the experiment alone. Thread-safe.
class ExperimentFigures {
 public:
  // Counts items that are inserted and sampled from now on. The store and the metrics must outlive this.
  ExperimentFigures(const ReplayStore* store, std::string experiment_id, Metrics* metrics);

  // Sets the gauges, and adds the items since the last call to items_inserted and items_sampled. Must be called before
  // the figures are sent.
  void Update() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Counted {
    std::weak_ptr<Table> table;  // Not its name, which another table may get.
    int64_t inserted = 0;
    int64_t sampled = 0;
  };

  void CountLocked(const std::vector<std::shared_ptr<Table>>& tables, Metrics* metrics)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ReplayStore* const store_;
  const std::string experiment_id_;
  Metrics* const metrics_;
  Mutex mutex_;  // Held while figures are set, so that older figures never replace newer ones.
  std::vector<Counted> counted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
