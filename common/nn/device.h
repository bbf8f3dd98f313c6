#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/nn/torch.h"

namespace waggle {

// "cpu", "cuda" or "cuda:N". INVALID_ARGUMENT for anything else; FAILED_PRECONDITION, naming the devices that exist, if
// this process has no such device.
absl::StatusOr<torch::Device> ParseDevice(absl::string_view name);

// "cuda:0", …: the CUDA devices that this process has.
std::vector<std::string> CudaDevices();

// Sets the number of LibTorch's threads for the calling thread (at least 1), and, the first time, chooses the BLAS's
// kernels: call it before anything computes. Logs the libraries in use, with a warning if they are slower than
// necessary. Thread-safe.
void ConfigureTorch(int64_t threads);

}  // namespace waggle
