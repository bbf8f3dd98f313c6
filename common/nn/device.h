#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// "cpu", "cuda" or "cuda:N". INVALID_ARGUMENT for anything else; FAILED_PRECONDITION, saying what there is, if this
// process has no such device.
absl::StatusOr<torch::Device> ParseDevice(absl::string_view name);

// The linear-algebra library that LibTorch's matrix products call in this process.
struct BlasLibrary {
  std::string path;        // Of its file; empty where it is part of LibTorch.
  bool reference = false;  // The reference implementation: 6 to 16 times slower than the others.
};
BlasLibrary FindBlasLibrary();

// Sets how many threads LibTorch computes with in this process (at least 1; call before it first computes) and logs
// what it runs on, with a warning if that is the reference BLAS.
void ConfigureTorch(int64_t threads);

}  // namespace waggle
