#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"
#include "common/config/schedule.h"

namespace waggle {

// An optimizer as YAML describes it: one step from a gradient to new values. Formulas are those of torch::optim.
struct OptimizerOptions {
  std::string type = "adam";  // adam, adamw, rmsprop or sgd.
  Schedule learning_rate = 0.001;
  double beta1 = 0.9;             // adam, adamw: decay of the gradient's mean.
  double beta2 = 0.999;           // adam, adamw: decay of the mean of its square.
  double alpha = 0.99;            // rmsprop: decay of the mean of its square.
  double momentum = 0;            // sgd, rmsprop.
  double epsilon = 1e-8;          // adam, adamw, rmsprop: added to the root of the mean square.
  double weight_decay = 0;        // adamw: of the values themselves; else added to the gradient.
  double gradient_clip_norm = 0;  // A gradient with a larger L2 norm is scaled down to it first; 0: never.

  // How many arrays of the values' size an optimizer keeps beside them.
  int64_t StateArrays() const { return type == "sgd" ? 1 : 2; }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

}  // namespace waggle
