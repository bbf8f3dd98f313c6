#pragma once

#include "common/config/experiment/algorithm_definition.h"
#include "common/config/experiment/family_defaults.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// Causal behaviour cloning (ResiduIL, Swamy et al. 2022, arXiv 2202.01312): an imitation of demonstrators whose actions
// have noise that lasts from step to step. What they do follows from states, but states follow from earlier noise too,
// so that plain cloning takes noise for intent. The state before is an instrument: it knows nothing of newer noise.
struct CausalBcOptions : public AlgorithmOptions {
  double cloning_weight = 0.05;    // The weight of the squared error, which plain cloning descends.
  double residual_penalty = 1e-3;  // The weight of the predicted residual's size.
  OptimizerOptions policy_optimizer, residual_optimizer;

  CausalBcOptions() { importance_exponent = AnnealedImportance(); }

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

// The table's fields beside those of transitions: the second row's action and step type.
inline constexpr char kNextActionPrefix[] = "next_";
inline constexpr char kNextStepType[] = "next_step_type";

}  // namespace waggle
