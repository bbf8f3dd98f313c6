#pragma once

#include <memory>
#include <vector>

#include "common/replay/ports/replay.h"

namespace waggle {

// A PriorityUpdater over shards. Each update goes to the shard in its key. Shards do not wait for each other.
class ShardedPriorityUpdater final : public PriorityUpdater {
 public:
  // `takes_magnitudes` allows negative priorities.
  explicit ShardedPriorityUpdater(std::vector<std::unique_ptr<PriorityUpdater>> shards, bool takes_magnitudes = false)
      : shards_(std::move(shards)), takes_magnitudes_(takes_magnitudes) {}

  absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                      std::vector<double> priorities) override;
  absl::Status Flush(absl::Duration timeout) override;
  // Sums over all shards. Keys of unknown shards count as unknown.
  PriorityUpdateCounts counts() const override;

 private:
  const std::vector<std::unique_ptr<PriorityUpdater>> shards_;
  const bool takes_magnitudes_;
  uint64_t unknown_ = 0;
};

}  // namespace waggle
