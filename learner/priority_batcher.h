#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "common/api/replay.h"
#include "common/nn/copy_stream.h"
#include "common/nn/torch.h"

namespace waggle {

// Gathers the new priorities of several batches and sends them together, in fewer messages. On an accelerator they are
// copied to the CPU while it goes on computing, and sent when the next ones have been gathered: by then they have
// arrived, and the device has more to do. Not thread-safe.
class PriorityBatcher {
 public:
  // Sends after every `steps`-th batch. `updater` outlives this object.
  PriorityBatcher(PriorityUpdater* updater, int64_t steps) : updater_(updater), steps_(steps) {}

  // `priorities` is [batch's size], one for each of the batch's items. INVALID_ARGUMENT if it has another size or, from
  // the updater, for one that is negative or not finite; other errors are the updater's.
  absl::Status Add(const SampledBatch& batch, const torch::Tensor& priorities);

  // Sends all that has been gathered. Waits for an accelerator.
  absl::Status Send();

 private:
  // What is sent together.
  struct Group {
    int64_t batches = 0;
    std::vector<uint64_t> keys;
    std::vector<uint64_t> generations;
    std::vector<double> priorities;
    std::vector<torch::Tensor> on_device;  // Priorities that are not on the CPU yet.
  };

  // What has been gathered sets out for the CPU.
  absl::Status Leave();
  // Waits until what has set out is there, and sends it.
  absl::Status SendLeft();

  PriorityUpdater* const updater_;
  const int64_t steps_;
  Group gathered_;
  Group left_;
  std::optional<CopyStream> copies_;  // On an accelerator.
};

}  // namespace waggle
