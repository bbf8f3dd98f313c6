#include "common/nn/blas.h"

#include <cstdlib>

#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr CpuFeatures kOld;
constexpr CpuFeatures kAvx2{true, false, false};
constexpr CpuFeatures kAvx512{true, true, false};
constexpr CpuFeatures kBfloat16{true, true, true};

TEST_CASE("a processor that OpenBLAS takes for one of 2004 gets the kernels for its instructions", "[unit]") {
  CHECK(BetterKernels("Prescott", kAvx2) == "Haswell");
  CHECK(BetterKernels("Prescott", kAvx512) == "SkylakeX");
  CHECK(BetterKernels("Prescott", kBfloat16) == "Cooperlake");
}

TEST_CASE("kernels that OpenBLAS chose for a processor it knows stay", "[unit]") {
  CHECK(BetterKernels("Prescott", kOld).empty());
  for (const char* kernels : {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids", "neoversen1", ""}) {
    INFO(kernels);
    CHECK(BetterKernels(kernels, kBfloat16).empty());
  }
}

TEST_CASE("this process has a fast BLAS, with kernels for its processor", "[unit]") {
  ImproveBlasKernels();
  const BlasLibrary blas = FindBlasLibrary();
  // The machines that run these tests have a fast BLAS.
  CHECK_FALSE(blas.reference);
  if (std::getenv("OPENBLAS_CORETYPE") == nullptr) {
    CHECK(BetterKernels(blas.kernels, DetectCpuFeatures()).empty());
  }
}

}  // namespace
}  // namespace waggle
