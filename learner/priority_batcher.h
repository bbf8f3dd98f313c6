#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "common/nn/copy_stream.h"
#include "common/nn/torch.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// Gathers the new priorities of several batches and sends them together, in fewer messages. On an accelerator a group
// is copied to the CPU while the device computes on, and is sent one group later: by then its copy has usually arrived.
// Not thread-safe.
class PriorityBatcher {
 public:
  // A group has `steps` batches. `updater` must outlive this object.
  PriorityBatcher(PriorityUpdater* updater, int64_t steps) : updater_(updater), steps_(steps) {}

  // `priorities` is [batch size], one for each item of the batch. INVALID_ARGUMENT for another size or, from the
  // updater, for a negative or non-finite priority; other errors are the updater's.
  absl::Status Add(const SampledBatch& batch, const torch::Tensor& priorities);

  // Sends all gathered priorities. Waits for an accelerator.
  absl::Status Send();

 private:
  // Priorities that are sent together.
  struct Group {
    int64_t batches = 0;
    std::vector<uint64_t> keys;
    std::vector<uint64_t> generations;
    std::vector<double> priorities;
    std::vector<torch::Tensor> on_device;  // Priorities that are not on the CPU yet.
  };

  // Begins to copy the gathered priorities to the CPU.
  absl::Status Leave();
  // Waits for the copies, and sends them.
  absl::Status SendLeft();

  PriorityUpdater* const updater_;
  const int64_t steps_;
  Group gathered_;
  Group left_;
  std::optional<CopyStream> copies_;  // Set on an accelerator.
};

}  // namespace waggle
