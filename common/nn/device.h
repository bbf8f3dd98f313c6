#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/nn/torch.h"

namespace waggle {

// "cpu", "cuda" or "cuda:N". INVALID_ARGUMENT for anything else; FAILED_PRECONDITION, saying what there is, if this
// process has no such device.
absl::StatusOr<torch::Device> ParseDevice(absl::string_view name);

// "cuda:0", …: the CUDA devices that this process has.
std::vector<std::string> CudaDevices();

// Sets how many threads LibTorch computes with for the calling thread (at least 1), and, the first time, chooses the
// BLAS's kernels: to be called before whatever computes. Logs what it runs on, with a warning if that is slower than it
// need be. Thread-safe.
void ConfigureTorch(int64_t threads);

}  // namespace waggle
