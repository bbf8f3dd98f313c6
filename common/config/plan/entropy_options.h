#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"
#include "common/config/plan/algorithm_plan.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// The rule by which the weight of an entropy moves in three stages (common/rl/kit/entropy_stages.h). Rates are of the
// weight's logarithm, an optimizer step.
struct EntropyStagesOptions {
  int64_t window = 2;          // Optimizer steps whose mean is the entropy.
  bool adjusts_first = false;  // The third stage alone.
  double lowering_rate = 0.001;
  double slowest_rate = 0.01;  // The third stage's; at most fastest_rate counts.
  double fastest_rate = 0.7;
  double min_weight = 1e-4;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// The bonus that an on-policy algorithm pays its policy for being random: `weight` for each nat of its entropy, or a
// weight that keeps the entropy from falling below `target`.
struct EntropyOptions {
  Schedule weight = 0.01;
  // In nats a step. Present: the weight is learned, and begins with `weight`.
  std::optional<double> target;
  // The rule that moves the weight: gradient, if there is a target, or stages, which has a default target.
  std::string rule = "gradient";
  OptimizerOptions optimizer;  // gradient: for the weight's logarithm.
  EntropyStagesOptions stages;

  bool learns_weight() const { return target.has_value() || rule == "stages"; }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// The learned number that EntropyBonus (common/rl/kit/entropy_bonus.h) needs; none if the weight is not learned.
std::vector<ScalarNeed> EntropyScalars(const EntropyOptions& options);

inline constexpr char kLogEntropyWeight[] = "log_entropy_weight";

}  // namespace waggle
