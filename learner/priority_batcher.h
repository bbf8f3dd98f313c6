#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/api/replay.h"
#include "common/nn/torch.h"

namespace waggle {

// Gathers the new priorities of several batches and sends them together: fewer messages, and on an accelerator fewer
// waits for it. Not thread-safe.
class PriorityBatcher {
 public:
  // Sends after every `steps`-th batch. `updater` outlives this object.
  PriorityBatcher(PriorityUpdater* updater, int64_t steps) : updater_(updater), steps_(steps) {}

  // `priorities` is [batch's size], one for each of the batch's items. INVALID_ARGUMENT if it has another size or, from
  // the updater, for one that is negative or not finite; other errors are the updater's.
  absl::Status Add(const SampledBatch& batch, const torch::Tensor& priorities);

  // Sends what has been gathered.
  absl::Status Send();

 private:
  PriorityUpdater* const updater_;
  const int64_t steps_;
  int64_t gathered_ = 0;  // Batches.
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> generations_;
  std::vector<double> priorities_;
  std::vector<torch::Tensor> on_device_;  // Not copied to the CPU yet.
};

}  // namespace waggle
