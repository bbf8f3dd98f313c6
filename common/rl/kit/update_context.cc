#include "common/rl/kit/update_context.h"

#include <cmath>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace waggle {

bool UpdateContext::Descend(const torch::Tensor& loss, ParameterGroup* group) {
  if (!status_.ok()) {
    return false;
  }
  Report(absl::StrCat(group->name(), "_loss"), loss);
  // A check is free on the CPU. Elsewhere the gradient tells the stepper.
  if (loss.is_cpu() && !std::isfinite(loss.item<double>())) {
    status_ = absl::InvalidArgumentError(
        absl::StrCat(group->name(), "_loss is ", loss.item<double>(),
                     ": a reward, an observation or an action of the batch is out of bounds, or learning diverged"));
    return false;
  }
  torch::Tensor gradients = group->gradients();
  gradients.zero_();
  torch::autograd::backward({loss}, {}, c10::nullopt, /*create_graph=*/false, group->parameters().leaves());
  const absl::StatusOr<bool> stepped = stepper_->Step(group, progress_);
  status_ = stepped.status();
  if (!stepped.ok() || !*stepped) {
    return false;
  }
  Report(absl::StrCat(group->name(), "_gradient_norm"), group->optimizer().gradient_norm());
  return true;
}

void UpdateContext::Report(const std::string& name, const torch::Tensor& value) {
  const torch::Tensor constant = value.detach();
  metrics_.emplace_back(name, constant.dim() == 0 ? constant : constant.to(torch::kFloat32).mean());
}

torch::Tensor UpdateContext::priorities(const std::string& table) const {
  for (const std::string& name : {table, std::string()}) {
    if (const auto it = priorities_.find(name); it != priorities_.end()) {
      return it->second;
    }
  }
  return {};
}

}  // namespace waggle
