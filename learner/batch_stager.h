#pragma once

#include "absl/status/status.h"
#include "common/api/replay.h"
#include "common/nn/torch.h"
#include "common/rl/batches.h"

namespace waggle {

// A sampled batch and its fields as tensors on the learner's device. On the CPU these are views of the batch's bytes.
struct StagedBatch {
  SampledBatch host;
  TensorBatch tensors;
};

// Makes tensors of `batch` in `staged`, whose map is used again from batch to batch. On an accelerator all fields
// travel in one copy out of pinned memory, which nobody waits for: the device works on the batch before meanwhile.
// INTERNAL or RESOURCE_EXHAUSTED where LibTorch cannot.
absl::Status StageBatch(SampledBatch batch, torch::Device device, StagedBatch* staged);

}  // namespace waggle
