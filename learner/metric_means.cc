#include "learner/metric_means.h"

#include "common/nn/torch_compat.h"

namespace waggle {

absl::Status MetricMeans::Add(const std::vector<std::pair<std::string, torch::Tensor>>& metrics) {
  return CatchTorch("adding up metrics", [&] {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> totals;
    std::vector<torch::Tensor> values;
    for (const auto& [name, value] : metrics) {
      Sum& sum = sums_[name];
      if (!sum.total.defined()) {
        sum.total = torch::zeros({}, value.options().dtype(torch::kFloat32).requires_grad(false));
      }
      ++sum.count;
      totals.push_back(sum.total);
      values.push_back(value.to(torch::kFloat32));
    }
    // All of them in one go: an accelerator runs one kernel.
    if (!totals.empty()) {
      torch::_foreach_add_(totals, values);
    }
  });
}

absl::StatusOr<std::map<std::string, double>> MetricMeans::Take() {
  return CatchTorch("reading metrics", [&] {
    std::map<std::string, double> means;
    for (auto& [name, sum] : std::exchange(sums_, {})) {
      means[name] = sum.total.item<double>() / static_cast<double>(sum.count);
    }
    return means;
  });
}

}  // namespace waggle
