#include "common/nn/optimizer.h"

#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/nn/torch_compat.h"

namespace waggle {

absl::StatusOr<std::unique_ptr<Optimizer>> NewOptimizer(const OptimizerOptions& options, const torch::Tensor& values) {
  WAGGLE_RETURN_IF_ERROR(Annotate(options.Validate(), "optimizer"));
  return CatchTorch("allocating an optimizer", [&] {
    const bool swept = values.is_cpu() && values.is_contiguous() &&
                       (values.scalar_type() == torch::kFloat32 || values.scalar_type() == torch::kFloat64);
    return swept ? NewCpuOptimizer(options, values) : NewDeviceOptimizer(options, values);
  });
}

}  // namespace waggle
