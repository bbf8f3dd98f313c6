#pragma once

#include <optional>

#include "absl/status/status.h"
#include "common/api/replay.h"
#include "common/nn/copy_stream.h"
#include "common/nn/torch.h"
#include "common/rl/batches.h"

namespace waggle {

// A sampled batch and its fields as tensors on the learner's device. On the CPU these are views of the batch's bytes.
struct StagedBatch {
  SampledBatch host;
  TensorBatch tensors;
  std::optional<CopyStream> copies;  // On an accelerator.
};

// Makes tensors of `batch` in `staged`, whose map is used again from batch to batch, always for the same device. On an
// accelerator all fields travel in one copy out of pinned memory, on a stream of its own, which nobody waits for: an
// update is queued, not awaited, so the device still works on the batch before while this one travels.
// INTERNAL or RESOURCE_EXHAUSTED where LibTorch cannot.
absl::Status StageBatch(SampledBatch batch, torch::Device device, StagedBatch* staged);

}  // namespace waggle
