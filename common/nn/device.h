#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/nn/torch.h"

namespace waggle {

// "cpu", "cuda" or "cuda:N", else INVALID_ARGUMENT. FAILED_PRECONDITION, naming the devices, if it is missing.
absl::StatusOr<torch::Device> ParseDevice(absl::string_view name);

// The CUDA devices of this process: "cuda:0", ….
std::vector<std::string> CudaDevices();

// Sets the calling thread's number of LibTorch threads (at least 1) and, the first time, the BLAS's kernels: must be
// called before any computation. Logs the libraries, and warns about slow ones. Thread-safe.
void ConfigureTorch(int64_t threads);

}  // namespace waggle
