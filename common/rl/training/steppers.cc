#include "common/rl/training/steppers.h"

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/nn/torch_compat.h"

namespace waggle {

absl::StatusOr<bool> LocalStepper::Step(ParameterGroup* group, const Progress& progress) {
  WAGGLE_RETURN_IF_ERROR(Annotate(CatchTorch("stepping an optimizer",
                                             [&] {
                                               return group->optimizer().Step(group->values(), group->gradients(),
                                                                              group->learning_rate().At(progress));
                                             }),
                                  absl::StrCat("parameter group ", group->name())));
  return true;
}

absl::StatusOr<bool> CaptureStepper::Step(ParameterGroup* group, const Progress& /*progress*/) {
  WAGGLE_RETURN_IF_ERROR(
      CatchTorch("keeping a gradient", [&] { gradients_[group->name()] = group->gradients().clone(); }));
  return false;
}

absl::Status SetGradients(const torch::Tensor& gradients, ParameterGroup* group) {
  if (gradients.numel() != group->gradients().numel()) {
    return absl::InvalidArgumentError(absl::StrCat("parameter group ", group->name(), ": a gradient of ",
                                                   gradients.numel(), " numbers for ", group->gradients().numel(),
                                                   " parameters"));
  }
  return CatchTorch("setting a gradient", [&] {
    torch::NoGradGuard no_grad;
    group->gradients().copy_(gradients.view({-1}));
  });
}

}  // namespace waggle
