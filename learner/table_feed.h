#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/replay.h"
#include "common/base/stop_token.h"
#include "common/nn/torch.h"
#include "common/rl/batches.h"
#include "learner/batch_stager.h"
#include "learner/policy_lags.h"
#include "learner/priority_batcher.h"

namespace waggle {

struct TableFeedOptions {
  torch::Device device = torch::kCPU;
  int64_t priority_update_steps = 1;  // See LearnerOptions.
  std::optional<int64_t> max_policy_lag = {};
};

// How a replay table feeds a train loop: batches of it as tensors, how old the policy was that acted them, and new
// priorities on their way back. One thread.
class TableFeed {
 public:
  // The ports outlive the feed.
  TableFeed(const TableFeedOptions& options, ReplaySampler* sampler, PriorityUpdater* updater)
      : options_(options), sampler_(sampler), updater_(updater), priorities_(updater, options.priority_update_steps) {}

  // Waits for the next batch and stages it for learner step `step`. Items that are too old for it are left out; where
  // all are, the batch after it is taken. Errors as of ReplaySampler::Next.
  absl::Status Next(int64_t step, const StopToken& stop);
  // Of the last Next.
  const TensorBatch& batch() const { return staged_.tensors; }

  // New priorities of the batch's items, or none (undefined). Errors as of PriorityBatcher.
  absl::Status Prioritize(const torch::Tensor& priorities);

  // What was counted since it was last asked for; the largest lag is of all so far.
  struct Counts {
    PolicyLags lags;
    PriorityUpdateCounts priorities;
  };
  Counts TakeCounts();

  ReplaySampler& sampler() { return *sampler_; }
  PriorityBatcher& priorities() { return priorities_; }
  PriorityUpdater& updater() { return *updater_; }

 private:
  // Takes note of the lags, and leaves out what is too old.
  void CountLags(int64_t step);
  // How many learner steps ago the batch came from replay.
  int64_t StepsSinceSampled(int64_t step) const;

  const TableFeedOptions options_;
  ReplaySampler* const sampler_;
  PriorityUpdater* const updater_;
  PriorityBatcher priorities_;
  StagedBatch staged_;
  // When each of the latest steps began, oldest first: what is fetched ahead waits for as many as are kept, or fewer.
  std::deque<std::pair<absl::Time, int64_t>> began_;
  Counts counts_;
  PriorityUpdateCounts counted_priorities_;
};

}  // namespace waggle
