#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"

namespace waggle::testing {

// Options that use every kind of field there is.

struct LayerOptions {
  std::string type = "mlp";
  std::vector<int64_t> units = {64, 64};

  void Visit(ConfigVisitor& visitor) {
    visitor.Choice("type", &type, {"mlp", "conv"});
    visitor.IntList("units", &units, In(1, 4096));
  }
  absl::Status Validate() const {
    return units.empty() ? absl::InvalidArgumentError("units: at least one is wanted") : absl::OkStatus();
  }
};

struct TrainOptions {
  int64_t batch_size = 128;
  double learning_rate = 1e-3;
  std::optional<double> target;
  bool clip = true;
  std::string name = "run";
  std::string mode;  // Must be given.
  std::vector<LayerOptions> layers = {LayerOptions()};

  void Visit(ConfigVisitor& visitor) {
    visitor.Int("batch_size", &batch_size, In(1, 4096));
    visitor.Double("learning_rate", &learning_rate, In(0, 1));
    visitor.OptionalDouble("target", &target, In(-1e9, 1e9));
    visitor.Bool("clip", &clip);
    visitor.String("name", &name);
    visitor.Choice("mode", &mode, {"vanilla", "double"});
    visitor.List("layers", &layers);
  }
  absl::Status Validate() const {
    std::string problems;
    if (batch_size % 2 != 0) {
      problems += "batch_size: 7 is odd; wanted an even number";
    }
    if (clip && name == "noclip") {
      problems += std::string(problems.empty() ? "" : "\n") + "clip and name contradict each other";
    }
    return problems.empty() ? absl::OkStatus() : absl::InvalidArgumentError(problems);
  }
};

}  // namespace waggle::testing
