#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/nn/torch.h"

namespace waggle {

// Means of metrics over updates. Sums stay on an accelerator, so that only Take() waits for it. Not thread-safe.
class MetricMeans {
 public:
  // Adds an update's metrics (see UpdateResult), which may be overwritten afterwards.
  absl::Status Add(const std::vector<std::pair<std::string, torch::Tensor>>& metrics);

  // The mean of each metric over those updates since the last call that had it.
  absl::StatusOr<std::map<std::string, double>> Take();

 private:
  struct Sum {
    double total = 0;
    torch::Tensor on_device;  // The part on an accelerator: a float32 scalar, or undefined.
    int64_t count = 0;
  };

  std::map<std::string, Sum> sums_;
};

}  // namespace waggle
