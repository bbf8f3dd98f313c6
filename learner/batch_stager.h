#pragma once

#include <optional>

#include "absl/status/status.h"
#include "common/nn/copy_stream.h"
#include "common/nn/torch.h"
#include "common/replay/ports/replay.h"
#include "common/rl/kit/batches.h"

namespace waggle {

// A sampled batch and its fields as tensors on the learner's device. On the CPU these are views of the batch's bytes.
struct StagedBatch {
  SampledBatch host;
  TensorBatch tensors;
  std::optional<CopyStream> copies;  // Set on an accelerator.
};

// Makes tensors of `batch` in `staged`. Its map is reused from batch to batch, always for the same device. On an
// accelerator all fields travel in one copy from pinned memory, on a separate stream without a wait: updates are
// queued, so the device still computes the last batch while this one travels. INTERNAL or RESOURCE_EXHAUSTED if
// LibTorch fails.
absl::Status StageBatch(SampledBatch batch, torch::Device device, StagedBatch* staged);

}  // namespace waggle
