#include "common/rl/kit/update_context.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace waggle {

bool UpdateContext::Try(const absl::Status& status) {
  status_.Update(status);
  return status_.ok();
}

bool UpdateContext::Differentiate(const torch::Tensor& loss, const std::vector<ParameterGroup*>& groups,
                                  bool keep_graph) {
  if (!status_.ok()) {
    return false;
  }
  // A check is free on the CPU. Elsewhere the gradient tells the stepper.
  if (loss.is_cpu() && !std::isfinite(loss.item<double>())) {
    return Try(absl::InvalidArgumentError(absl::StrCat(
        groups[0]->name(), "_loss: got ", loss.item<double>(),
        "; wanted a finite number. A reward, an observation or an action of the batch is out of bounds, or "
        "learning diverged")));
  }
  std::vector<torch::Tensor> leaves;
  for (ParameterGroup* const group : groups) {
    torch::Tensor gradients = group->gradients();
    gradients.zero_();
    leaves.insert(leaves.end(), group->parameters().leaves().begin(), group->parameters().leaves().end());
  }
  torch::autograd::backward({loss}, {}, keep_graph, /*create_graph=*/false, leaves);
  return true;
}

bool UpdateContext::DescendAll(const torch::Tensor& loss, const std::vector<ParameterGroup*>& groups) {
  torch::Tensor whole = loss;
  std::vector<torch::Tensor> before;
  if (status_.ok()) {
    for (const ParameterGroup* const group : groups) {
      if (const torch::Tensor terms = terms_ ? terms_(*group) : torch::Tensor(); terms.defined()) {
        whole = whole + terms;
      }
    }
    for (const ParameterGroup* const group : groups) {
      Report(absl::StrCat(group->name(), "_loss"), whole);
      if (groups.size() > 1) {
        before.push_back(group->gradients().clone());
      }
    }
  }
  if (!Differentiate(whole, groups, /*keep_graph=*/false)) {
    return false;
  }
  if (groups.size() == 1) {
    return StepOne(groups[0]);
  }
  // A stepper finds one new gradient at a time, as if each group were descended alone.
  std::vector<torch::Tensor> gradients;
  for (size_t i = 0; i < groups.size(); ++i) {
    torch::Tensor own = groups[i]->gradients();
    gradients.push_back(own.clone());
    own.copy_(before[i]);
  }
  bool all_stepped = true;
  for (size_t i = 0; i < groups.size(); ++i) {
    torch::Tensor own = groups[i]->gradients();
    own.copy_(gradients[i]);
    all_stepped = StepOne(groups[i]) && all_stepped;
  }
  return all_stepped;
}

bool UpdateContext::StepOne(ParameterGroup* group) {
  if (!status_.ok()) {
    return false;
  }
  const absl::StatusOr<bool> stepped = stepper_->Step(group, progress_);
  if (!Try(stepped.status()) || !*stepped) {
    return false;
  }
  if (const torch::Tensor norm = stepper_->GradientNorm(*group); norm.defined()) {
    Report(absl::StrCat(group->name(), "_gradient_norm"), norm);
  }
  return true;
}

torch::Tensor UpdateContext::Gradient(const torch::Tensor& loss, ParameterGroup* group) {
  torch::Tensor own = group->gradients();
  const torch::Tensor before = own.clone();
  torch::Tensor gradient = torch::zeros_like(own);
  if (Differentiate(loss, {group}, /*keep_graph=*/true)) {
    gradient.copy_(own);
    own.copy_(before);
    // On an accelerator nothing has waited for the loss so far.
    if (!Try(stepper_->Average(gradient)) ||
        (!gradient.is_cpu() && !gradient.isfinite().all().item<bool>() &&
         !Try(absl::InvalidArgumentError(
             absl::StrCat(group->name(), "_gradient: got one that is not finite; wanted finite numbers"))))) {
      gradient.zero_();
    }
  }
  return gradient;
}

torch::Tensor UpdateContext::GradientGraph(const torch::Tensor& scalar, ParameterGroup* group) {
  if (!status_.ok()) {
    return torch::zeros_like(group->gradients());
  }
  std::vector<torch::Tensor> leaves = group->parameters().leaves();
  // All leaves are views of one buffer.
  std::sort(leaves.begin(), leaves.end(),
            [](const torch::Tensor& a, const torch::Tensor& b) { return a.storage_offset() < b.storage_offset(); });
  std::vector<torch::Tensor> parts = torch::autograd::grad({scalar}, leaves, {}, /*retain_graph=*/true,
                                                           /*create_graph=*/true, /*allow_unused=*/true);
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = (parts[i].defined() ? parts[i] : torch::zeros_like(leaves[i])).reshape({-1});
  }
  return torch::cat(parts);
}

torch::Tensor UpdateContext::Mean(const torch::Tensor& tensor) {
  torch::Tensor mean = tensor.detach().clone();
  if (status_.ok()) {
    Try(stepper_->Average(mean));
  }
  return mean;
}

bool UpdateContext::Assign(const torch::Tensor& values, ParameterGroup* group) {
  const torch::Tensor mean = Mean(values);
  if (!status_.ok()) {
    return false;
  }
  if (!torch::isfinite(mean).all().item<bool>()) {
    return Try(absl::InvalidArgumentError(
        absl::StrCat(group->name(), ": got new values that are not all finite; wanted finite ones")));
  }
  const absl::StatusOr<bool> assigned = stepper_->Assign(group, mean);
  return Try(assigned.status()) && *assigned;
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
