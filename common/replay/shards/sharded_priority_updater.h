#pragma once

#include <memory>
#include <vector>

#include "common/replay/ports/replay.h"

namespace waggle {

// A PriorityUpdater over shards: each item's update goes to the shard that its key names, and none waits for another's.
class ShardedPriorityUpdater final : public PriorityUpdater {
 public:
  // `takes_magnitudes`: the table's priorities may be negative.
  explicit ShardedPriorityUpdater(std::vector<std::unique_ptr<PriorityUpdater>> shards, bool takes_magnitudes = false)
      : shards_(std::move(shards)), takes_magnitudes_(takes_magnitudes) {}

  absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                      std::vector<double> priorities) override;
  absl::Status Flush(absl::Duration timeout) override;
  // Of all shards; keys of a shard that there is none of count as unknown.
  PriorityUpdateCounts counts() const override;

 private:
  const std::vector<std::unique_ptr<PriorityUpdater>> shards_;
  const bool takes_magnitudes_;
  uint64_t unknown_ = 0;
};

}  // namespace waggle
