#pragma once

#include "common/nn/torch.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// For a test that is tagged [cuda]: whether there is a device. Where there is none it says so in the words by which
// ctest knows that the test was skipped.
inline bool HasCuda() {
  const bool has = torch::cuda::is_available();
  if (!has) {
    WARN("there is no CUDA device");
  }
  return has;
}

}  // namespace waggle::testing
