#pragma once

#include "common/nn/torch.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// True if there is a CUDA device, for tests tagged [cuda]. Otherwise it prints the words by which ctest recognizes a
// skipped test.
inline bool HasCuda() {
  const bool has = torch::cuda::is_available();
  if (!has) {
    WARN("there is no CUDA device");
  }
  return has;
}

}  // namespace waggle::testing
