#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/optimizer.h"

namespace waggle {

// Parameters that are stepped together: a flat buffer, its gradient, and the optimizer that turns one into the other.
// Not thread-safe.
class ParameterGroup {
 public:
  // `parameters` outlive the group. INVALID_ARGUMENT where the options are wrong.
  static absl::StatusOr<std::unique_ptr<ParameterGroup>> Create(std::string name, FlatParameters* parameters,
                                                                const OptimizerOptions& options) {
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Optimizer> optimizer, NewOptimizer(options, parameters->values()));
    return std::unique_ptr<ParameterGroup>(
        new ParameterGroup(std::move(name), parameters, options.learning_rate, std::move(optimizer)));
  }

  // "q", "actor": unique within an algorithm.
  const std::string& name() const { return name_; }
  FlatParameters& parameters() const { return *parameters_; }
  const torch::Tensor& values() const { return parameters_->values(); }
  const torch::Tensor& gradients() const { return parameters_->gradients(); }
  Optimizer& optimizer() const { return *optimizer_; }
  const Schedule& learning_rate() const { return learning_rate_; }

 private:
  ParameterGroup(std::string name, FlatParameters* parameters, const Schedule& learning_rate,
                 std::unique_ptr<Optimizer> optimizer)
      : name_(std::move(name)),
        parameters_(parameters),
        learning_rate_(learning_rate),
        optimizer_(std::move(optimizer)) {}

  const std::string name_;
  FlatParameters* const parameters_;
  const Schedule learning_rate_;
  const std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace waggle
