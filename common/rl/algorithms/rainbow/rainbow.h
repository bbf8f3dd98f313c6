#pragma once

#include <cstdint>
#include <string>

#include "common/rl/algorithms/value_based/definition.h"

namespace waggle {

// Rainbow (Hessel et al. 2017, arXiv 1710.02298): distributions of values (C51), n-step returns, double selection,
// dueling streams, prioritised replay and noisy layers. Each can be switched off: `learns: mean`, `n_step: 1`,
// `double_selection: false`, the network's head type, its layers' `noise`, and the replay section's sampler.
struct RainbowOptions : public ValueBasedOptions {
  std::string learns = "distribution";  // distribution, or mean: values, with Huber's loss.
  int64_t atoms = 51;                   // A distribution's.
  // The values of the lowest and the highest atom: bounds of the discounted returns.
  double low = -10;
  double high = 100;
  bool double_selection = true;  // The online network chooses the next action; otherwise the target does.

  RainbowOptions();

  bool learns_distribution() const { return learns == "distribution"; }

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;
};

}  // namespace waggle
