#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"
#include "common/config/schedule.h"

namespace waggle {

// An optimizer as YAML describes it: one step from a gradient to new values. Formulas are those of torch::optim.
struct OptimizerOptions {
  std::string type = "adam";  // adam, adamw, rmsprop or sgd.
  Schedule learning_rate = 0.001;
  double beta1 = 0.9;     // adam, adamw: decay of the gradient's mean.
  double beta2 = 0.999;   // adam, adamw: decay of the mean of its square.
  double alpha = 0.99;    // rmsprop: decay of the mean of its square.
  double momentum = 0;    // sgd, rmsprop.
  bool centered = false;  // rmsprop: divides by the root of the variance, not of the mean square.
  bool amsgrad = false;   // adam, adamw: divides by the root of the largest mean square so far (Reddi et al., 2018).
  double epsilon = 1e-8;  // adam, adamw, rmsprop: added to the root of the mean square.
  // adamw: decays the values themselves; otherwise added to the gradient. Absent: the type's own, WeightDecay().
  std::optional<double> weight_decay;
  double gradient_clip_norm = 0;  // A gradient with a larger L2 norm is scaled down to it first; 0: never.

  // weight_decay, or if it is absent that of torch::optim's optimizer of this type: 0.01 for adamw, otherwise 0.
  double WeightDecay() const { return weight_decay.value_or(type == "adamw" ? 0.01 : 0); }
  // Arrays of the values' size that an optimizer keeps beside them.
  int64_t StateArrays() const;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

}  // namespace waggle
