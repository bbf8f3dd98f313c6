#pragma once

#include <optional>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"
#include "common/config/plan/algorithm_plan.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// The bonus that an on-policy algorithm pays its policy for being random: `weight` for each nat of its entropy, or a
// weight that keeps the entropy from falling below `target`.
struct EntropyOptions {
  Schedule weight = 0.01;
  // In nats a step. Present: the weight is learned, and begins with `weight`.
  std::optional<double> target;
  OptimizerOptions optimizer;  // For the weight's logarithm.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// The learned number that EntropyBonus (common/rl/kit/entropy_bonus.h) needs; none if the weight is not learned.
std::vector<ScalarNeed> EntropyScalars(const EntropyOptions& options);

inline constexpr char kLogEntropyWeight[] = "log_entropy_weight";

}  // namespace waggle
