#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"
#include "common/nn/torch.h"
#include "common/replay/ports/replay.h"
#include "common/rl/kit/batches.h"
#include "learner/batch_stager.h"
#include "learner/policy_lags.h"
#include "learner/priority_batcher.h"

namespace waggle {

struct TableFeedOptions {
  torch::Device device = torch::kCPU;
  int64_t priority_update_steps = 1;  // See LearnerOptions.
  std::optional<int64_t> max_policy_lag = {};
  // TablePlan's: the sampler's batches in a batch of the feed. 1 for items with priorities.
  int64_t parts = 1;
};

// The batches of a replay table for a train loop: as tensors, with the lags of their policies, and with new priorities
// on the way back. One thread.
class TableFeed {
 public:
  // The ports must outlive the feed.
  TableFeed(const TableFeedOptions& options, ReplaySampler* sampler, PriorityUpdater* updater)
      : options_(options), sampler_(sampler), updater_(updater), priorities_(updater, options.priority_update_steps) {}

  // Waits for the next batch and stages it for learner step `step`. Leaves out items that are too old, and takes
  // further batches of the sampler while a whole one is missing. Returns the errors of ReplaySampler::Next.
  absl::Status Next(int64_t step, const StopToken& stop);
  // The batch of the last Next.
  const TensorBatch& batch() const { return options_.parts == 1 ? staged_.tensors : batch_; }

  // New priorities of the batch's items; undefined: none. Returns the errors of PriorityBatcher.
  absl::Status Prioritize(const torch::Tensor& priorities);

  // Counted since the last call; the largest lag is over all calls.
  struct Counts {
    PolicyLags lags;
    PriorityUpdateCounts priorities;
  };
  Counts TakeCounts();

  ReplaySampler& sampler() { return *sampler_; }
  PriorityBatcher& priorities() { return priorities_; }
  PriorityUpdater& updater() { return *updater_; }

 private:
  // Counts the lags, and leaves out of the staged items those that are too old.
  void CountLags(int64_t step);
  // Puts the staged items behind those of the batch, which has room for `all`.
  void Append(int64_t all);
  // The number of learner steps since the batch came from replay.
  int64_t StepsSinceSampled(int64_t step) const;

  const TableFeedOptions options_;
  ReplaySampler* const sampler_;
  PriorityUpdater* const updater_;
  PriorityBatcher priorities_;
  StagedBatch staged_;
  TensorBatch batch_;                            // If there are parts.
  std::map<std::string, torch::Tensor> wholes_;  // Its fields, with room for all parts.
  // The start times of the latest steps, oldest first. A batch fetched ahead waits for at most as many steps as are
  // kept.
  std::deque<std::pair<absl::Time, int64_t>> began_;
  Counts counts_;
  PriorityUpdateCounts counted_priorities_;
};

}  // namespace waggle
