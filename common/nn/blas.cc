#include "common/nn/blas.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/match.h"

namespace waggle {
namespace {

constexpr char kChosenKernels[] = "OPENBLAS_CORETYPE";

// A function of OpenBLAS, null if another library is in use.
template <class Function>
Function* OpenBlasFunction(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::string OpenBlasKernels() {
  auto* const name = OpenBlasFunction<char*()>("openblas_get_corename");
  return name == nullptr ? "" : name();
}

}  // namespace

BlasLibrary FindBlasLibrary() {
  BlasLibrary library;
  void* const symbol = dlsym(RTLD_DEFAULT, "sgemm_");
  Dl_info info;
  if (symbol == nullptr || dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) {
    return library;
  }
  library.path = info.dli_fname;
  if (char* const resolved = realpath(info.dli_fname, nullptr); resolved != nullptr) {
    library.path = resolved;
    std::free(resolved);
  }
  if (absl::StrContains(library.path, "libtorch")) {
    library.path.clear();
    return library;
  }
  library.kernels = OpenBlasKernels();
  // Debian's reference library is in a folder "blas" or plain libblas. The names of others tell their kind.
  library.reference =
      absl::StrContains(library.path, "/blas/libblas.so") ||
      (absl::StrContains(library.path, "/libblas.so") && dlsym(RTLD_DEFAULT, "openblas_get_config") == nullptr &&
       dlsym(RTLD_DEFAULT, "bli_info_get_version_str") == nullptr &&
       dlsym(RTLD_DEFAULT, "MKL_Get_Version") == nullptr && !absl::StrContains(library.path, "atlas"));
  return library;
}

CpuFeatures DetectCpuFeatures() {
  CpuFeatures cpu;
#ifdef __x86_64__
  __builtin_cpu_init();
  cpu.avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  cpu.avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
               __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  cpu.avx512_bfloat16 = cpu.avx512 && __builtin_cpu_supports("avx512bf16") != 0;
#endif
  return cpu;
}

std::string BetterKernels(absl::string_view kernels, const CpuFeatures& cpu) {
  if (kernels != "Prescott") {
    return "";
  }
  return cpu.avx512_bfloat16 ? "Cooperlake" : cpu.avx512 ? "SkylakeX" : cpu.avx2 ? "Haswell" : "";
}

void ImproveBlasKernels() {
  if (std::getenv(kChosenKernels) != nullptr) {
    return;
  }
  const std::string better = BetterKernels(OpenBlasKernels(), DetectCpuFeatures());
  // OpenBLAS chooses when it is loaded, before main. Its own functions make it choose again.
  auto* const forget = OpenBlasFunction<void()>("gotoblas_dynamic_quit");
  auto* const choose = OpenBlasFunction<void()>("gotoblas_dynamic_init");
  if (better.empty() || forget == nullptr || choose == nullptr) {
    return;
  }
  setenv(kChosenKernels, better.c_str(), /*replace=*/1);
  forget();
  choose();
  unsetenv(kChosenKernels);
}

}  // namespace waggle
