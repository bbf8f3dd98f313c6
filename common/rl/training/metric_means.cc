#include "common/rl/training/metric_means.h"

#include "common/nn/torch_compat.h"

namespace waggle {

absl::Status MetricMeans::Add(const std::vector<std::pair<std::string, torch::Tensor>>& metrics) {
  return CatchTorch("adding up metrics", [&] {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> totals;
    std::vector<torch::Tensor> values;
    for (const auto& [name, value] : metrics) {
      Sum& sum = sums_[name];
      ++sum.count;
      if (value.is_cpu()) {
        sum.total += value.item<double>();
        continue;
      }
      if (!sum.on_device.defined()) {
        sum.on_device = torch::zeros({}, value.options().dtype(torch::kFloat32).requires_grad(false));
      }
      totals.push_back(sum.on_device);
      values.push_back(value.to(torch::kFloat32));
    }
    // One kernel for all.
    if (!totals.empty()) {
      torch::_foreach_add_(totals, values);
    }
  });
}

absl::StatusOr<std::map<std::string, double>> MetricMeans::Take() {
  return CatchTorch("reading metrics", [&] {
    std::map<std::string, double> means;
    for (auto& [name, sum] : std::exchange(sums_, {})) {
      const double on_device = sum.on_device.defined() ? sum.on_device.item<double>() : 0;
      means[name] = (sum.total + on_device) / static_cast<double>(sum.count);
    }
    return means;
  });
}

}  // namespace waggle
