#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace waggle {

// The library that LibTorch's matrix products call in this process.
struct BlasLibrary {
  std::string path;        // The file's; empty if it is part of LibTorch.
  bool reference = false;  // The reference implementation: 6 to 16 times slower than others.
  std::string kernels;     // OpenBLAS's name of the processor kind that it computes for; empty for others.
};
BlasLibrary FindBlasLibrary();

// The processor's instructions that decide which of OpenBLAS's kernels it can run.
struct CpuFeatures {
  bool avx2 = false;  // With fused multiply-add.
  bool avx512 = false;
  bool avx512_bfloat16 = false;
};
CpuFeatures DetectCpuFeatures();

// The right kernels for a processor if OpenBLAS took `kernels`; empty if these are right. Up to 0.3.24 (Debian 12 has
// 0.3.21) OpenBLAS takes those of 2004's Prescott on Intel processors newer than itself (OpenBLAS issue 4267).
std::string BetterKernels(absl::string_view kernels, const CpuFeatures& cpu);

// Makes OpenBLAS use better kernels if it has some, which makes learning 2 to 3 times faster, unless the user has set
// OPENBLAS_CORETYPE. Must be called before any computation, from the only computing thread.
void ImproveBlasKernels();

}  // namespace waggle
