#include "common/replay/shards/sharded_priority_updater.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/deadline.h"
#include "common/replay/shards/shard_key.h"

namespace waggle {

absl::Status ShardedPriorityUpdater::Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                                            std::vector<double> priorities) {
  // Checks all before sending any, so that an error means that nothing is applied.
  if (keys.size() != generations.size() || keys.size() != priorities.size()) {
    return absl::InvalidArgumentError(absl::StrCat("got ", keys.size(), " keys, ", generations.size(),
                                                   " generations and ", priorities.size(), " priorities"));
  }
  for (size_t i = 0; i < priorities.size(); ++i) {
    if (!std::isfinite(priorities[i]) || (priorities[i] < 0 && !takes_magnitudes_)) {
      return absl::InvalidArgumentError(absl::StrCat("priority ", i, ": got ", priorities[i],
                                                     "; wanted a finite number",
                                                     takes_magnitudes_ ? "" : ", at least 0"));
    }
  }
  if (shards_.size() == 1) {
    return shards_.front()->Update(std::move(keys), std::move(generations), std::move(priorities));
  }
  struct Part {
    std::vector<uint64_t> keys;
    std::vector<uint64_t> generations;
    std::vector<double> priorities;
  };
  std::vector<Part> parts(shards_.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const size_t shard = ShardOfKey(keys[i]);
    if (shard >= parts.size()) {
      ++unknown_;
      continue;
    }
    parts[shard].keys.push_back(KeyInShard(keys[i]));
    parts[shard].generations.push_back(generations[i]);
    parts[shard].priorities.push_back(priorities[i]);
  }
  absl::Status status;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].keys.empty()) {
      status.Update(shards_[i]->Update(std::move(parts[i].keys), std::move(parts[i].generations),
                                       std::move(parts[i].priorities)));
    }
  }
  return status;
}

absl::Status ShardedPriorityUpdater::Flush(absl::Duration timeout) {
  const Deadline deadline(timeout);
  absl::Status status;
  for (const std::unique_ptr<PriorityUpdater>& shard : shards_) {
    status.Update(shard->Flush(deadline.Left()));  // All shards send meanwhile.
  }
  return status;
}

PriorityUpdateCounts ShardedPriorityUpdater::counts() const {
  PriorityUpdateCounts counts;
  counts.unknown = unknown_;
  for (const std::unique_ptr<PriorityUpdater>& shard : shards_) {
    const PriorityUpdateCounts part = shard->counts();
    counts.applied += part.applied;
    counts.stale += part.stale;
    counts.unknown += part.unknown;
  }
  return counts;
}

}  // namespace waggle
