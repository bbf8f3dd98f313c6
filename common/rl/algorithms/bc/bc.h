#pragma once

#include "common/config/experiment/algorithm_definition.h"
#include "common/config/experiment/family_defaults.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// Behaviour cloning (Pomerleau 1988, "ALVINN"): a policy under which recorded actions are as likely as can be.
struct BcOptions : public AlgorithmOptions {
  OptimizerOptions optimizer;

  BcOptions() { importance_exponent = AnnealedImportance(); }

  void Visit(ConfigVisitor& visitor) override { visitor.Section("optimizer", &optimizer); }
  absl::Status Validate() const override { return absl::OkStatus(); }
};

}  // namespace waggle
