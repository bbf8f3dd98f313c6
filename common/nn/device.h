#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/nn/torch.h"

namespace waggle {

// "cpu", "cuda" or "cuda:N". INVALID_ARGUMENT for anything else; FAILED_PRECONDITION, saying what there is, if this
// process has no such device.
absl::StatusOr<torch::Device> ParseDevice(absl::string_view name);

// Sets how many threads LibTorch computes with in this process (at least 1; call before it first computes), chooses the
// BLAS's kernels and logs what it runs on, with a warning if that is slower than it need be.
void ConfigureTorch(int64_t threads);

}  // namespace waggle
