#include "common/nn/device.h"

#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/nn/blas.h"

namespace waggle {

namespace {

int CountCudaDevices() {
  return torch::cuda::is_available() ? static_cast<int>(torch::cuda::device_count()) : 0;
}

}  // namespace

absl::StatusOr<torch::Device> ParseDevice(absl::string_view name) {
  if (name == "cpu") {
    return torch::Device(torch::kCPU);
  }
  int index = 0;
  const bool numbered = absl::StartsWith(name, "cuda:");
  if (name != "cuda" && !(numbered && absl::SimpleAtoi(name.substr(5), &index) && index >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat("device: \"", name, "\" is not one of cpu, cuda, cuda:N"));
  }
  const int devices = CountCudaDevices();
  if (devices == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "device: \"", name, "\" was asked for, but this process has no CUDA device (LibTorch ", TORCH_VERSION,
        torch::cuda::is_available() ? "" : ", built without CUDA or without a driver", "); use cpu"));
  }
  if (index >= devices) {
    return absl::FailedPreconditionError(absl::StrCat("device: \"", name, "\" was asked for, but this process has ",
                                                      devices, ": cuda:0 to cuda:", devices - 1));
  }
  return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
}

std::vector<std::string> CudaDevices() {
  std::vector<std::string> devices;
  for (int i = 0; i < CountCudaDevices(); ++i) {
    devices.push_back(absl::StrCat("cuda:", i));
  }
  return devices;
}

void ConfigureTorch(int64_t threads) {
  torch::set_num_threads(static_cast<int>(threads));
  static std::once_flag improved;  // Other threads must not compute meanwhile.
  std::call_once(improved, &ImproveBlasKernels);
  const BlasLibrary blas = FindBlasLibrary();
  LogInfo("LibTorch ", TORCH_VERSION, ", ", threads, threads == 1 ? " thread" : " threads",
          ", BLAS: ", blas.path.empty() ? "LibTorch's own" : blas.path,
          blas.kernels.empty() ? "" : absl::StrCat(", for ", blas.kernels));
  if (const std::string better = BetterKernels(blas.kernels, DetectCpuFeatures()); !better.empty()) {
    LogWarning("OpenBLAS does not know this processor and computes as for one of 2004: set OPENBLAS_CORETYPE=", better,
               ", or install a newer OpenBLAS");
  }
  if (blas.reference) {
    LogWarning("the BLAS in use is the reference one, which makes learning and acting 6 to 16 times slower; install ",
               "libopenblas0-openmp, or choose another one with update-alternatives --config libblas.so.3-",
               "$(uname -m)-linux-gnu");
  }
}

}  // namespace waggle
