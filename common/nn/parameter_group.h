#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/optimizer.h"

namespace waggle {

// Parameters that are stepped together: a flat buffer, its gradient and an optimizer. Not thread-safe.
class ParameterGroup {
 public:
  // Has the first `learned` elements of `parameters`, or all if absent; `parameters` must outlive it. INVALID_ARGUMENT
  // if the options are wrong.
  static absl::StatusOr<std::unique_ptr<ParameterGroup>> Create(std::string name, FlatParameters* parameters,
                                                                const OptimizerOptions& options,
                                                                std::optional<int64_t> learned = std::nullopt) {
    const auto part = [&](const torch::Tensor& all) {
      return learned.value_or(all.numel()) == all.numel() ? all : all.narrow(0, 0, *learned);
    };
    const torch::Tensor values = part(parameters->values());
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Optimizer> optimizer, NewOptimizer(options, values));
    return std::unique_ptr<ParameterGroup>(new ParameterGroup(std::move(name), parameters, values,
                                                              part(parameters->gradients()), options.learning_rate,
                                                              std::move(optimizer)));
  }

  // "q", "actor": unique within an algorithm.
  const std::string& name() const { return name_; }
  FlatParameters& parameters() const { return *parameters_; }
  const torch::Tensor& values() const { return values_; }
  const torch::Tensor& gradients() const { return gradients_; }
  Optimizer& optimizer() const { return *optimizer_; }
  const Schedule& learning_rate() const { return learning_rate_; }

  // Takes the learning rate and the clipping of other options, which must be valid, from the next step on.
  void SetRates(const OptimizerOptions& options) {
    learning_rate_ = options.learning_rate;
    optimizer_->set_gradient_clip_norm(options.gradient_clip_norm);
  }

 private:
  ParameterGroup(std::string name, FlatParameters* parameters, torch::Tensor values, torch::Tensor gradients,
                 const Schedule& learning_rate, std::unique_ptr<Optimizer> optimizer)
      : name_(std::move(name)),
        parameters_(parameters),
        values_(std::move(values)),
        gradients_(std::move(gradients)),
        learning_rate_(learning_rate),
        optimizer_(std::move(optimizer)) {}

  const std::string name_;
  FlatParameters* const parameters_;
  const torch::Tensor values_;
  const torch::Tensor gradients_;
  Schedule learning_rate_;
  const std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace waggle
