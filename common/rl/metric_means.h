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

// The means of an algorithm's metrics over its updates. Those on an accelerator are added up there, so that only Take()
// waits for it. Not thread-safe.
class MetricMeans {
 public:
  // An update's metrics (see UpdateResult), which may be overwritten afterwards.
  absl::Status Add(const std::vector<std::pair<std::string, torch::Tensor>>& metrics);

  // The mean of each metric over the updates since the last call that had it; begins anew.
  absl::StatusOr<std::map<std::string, double>> Take();

 private:
  struct Sum {
    double total = 0;
    torch::Tensor on_device;  // What else is in it: a scalar of type float32, or undefined.
    int64_t count = 0;
  };

  std::map<std::string, Sum> sums_;
};

}  // namespace waggle
