#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/config/schedule.h"
#include "common/nn/parameter_group.h"
#include "common/nn/torch.h"
#include "common/rl/kit/noise.h"
#include "common/rl/kit/stepper.h"

namespace waggle {

// The effects of one update. After an error it does nothing, and the caller returns it: algorithms need no error paths.
class UpdateContext {
 public:
  // The arguments must outlive the context.
  UpdateContext(Stepper* stepper, const Progress& progress, Noise* noise)
      : stepper_(stepper), progress_(progress), noise_(noise) {}

  // Adds terms to the loss of each following Descend: `terms(group)` is their sum, a scalar, or undefined if it has
  // none.
  void AddTerms(std::function<torch::Tensor(const ParameterGroup& group)> terms) { terms_ = std::move(terms); }

  // theta <- Stepper(gradient of the loss by theta), with the group's parameters as theta. True if their values
  // changed. Reports the scalar loss, with its terms, as "GROUP_loss". If it is not finite, this fails on the CPU, and
  // the stepper elsewhere.
  bool Descend(const torch::Tensor& loss, ParameterGroup* group) { return DescendAll(loss, {group}); }
  // The same for groups with a loss in common: each steps by the gradient before any of these steps. True if the values
  // of all changed.
  bool DescendAll(const torch::Tensor& loss, const std::vector<ParameterGroup*>& groups);

  // The gradient of the loss by the group's parameters, [parameters], without a step, as the mean over all learners.
  // Keeps the loss's graph and the group's own gradient, and reports nothing. A loss that is not finite fails as in
  // Descend. Zeros after an error.
  torch::Tensor Gradient(const torch::Tensor& loss, ParameterGroup* group);

  // The gradient of this learner's rows, [parameters], which can be differentiated again. `scalar` must come from
  // Net::Differentiable. Zeros after an error.
  torch::Tensor GradientGraph(const torch::Tensor& scalar, ParameterGroup* group);

  // The mean of a tensor over all learners, so that each decides alike.
  torch::Tensor Mean(const torch::Tensor& tensor);

  // Sets the group's parameters to the mean of these values, [parameters], over all learners. Optimizers keep their
  // state. True if the stepper took them. Reports nothing. Fails, with no change, if some are not finite.
  bool Assign(const torch::Tensor& values, ParameterGroup* group);

  // Reports the mean of `value`, which stays on the device until metrics are logged.
  void Report(const std::string& name, const torch::Tensor& value);

  // New priorities of the items, [rows], at least 0, of a table of the plan or of its only one.
  void SetPriorities(const std::string& table, const torch::Tensor& priorities) {
    priorities_[table] = priorities.detach();
  }
  void SetPriorities(const torch::Tensor& priorities) { SetPriorities("", priorities); }

  // The weights of a vector reward's dimensions in this update, [k], constants; undefined for a scalar reward. Modules
  // may set them.
  const torch::Tensor& reward_weights() const { return reward_weights_; }
  void SetRewardWeights(const torch::Tensor& weights) { reward_weights_ = weights.detach(); }

  // A step's mean of each dimension of a vector reward in the newest evaluation, [k]. Empty if there was none, and if
  // the plan does not read evaluations.
  const std::vector<double>& evaluated_rewards() const { return evaluated_rewards_; }
  void SetEvaluatedRewards(const std::vector<double>& rewards) { evaluated_rewards_ = rewards; }

  const Progress& progress() const { return progress_; }
  // The algorithm's random numbers.
  Noise* noise() const { return noise_; }

  // Ends the update with an error, unless there has been one.
  void Fail(const absl::Status& error) { status_.Update(error); }

  const absl::Status& status() const { return status_; }
  // New priorities of the table, or of the only table; undefined if not set.
  torch::Tensor priorities(const std::string& table = "") const;
  std::vector<std::pair<std::string, torch::Tensor>> TakeMetrics() { return std::move(metrics_); }

 private:
  // Sets the groups' gradients to the loss's. False, with the status set, if the loss is not finite or after an error.
  bool Differentiate(const torch::Tensor& loss, const std::vector<ParameterGroup*>& groups, bool keep_graph);
  // Steps a group by its gradient.
  bool StepOne(ParameterGroup* group);
  // Sets the status from what may throw. True if all is well.
  bool Try(const absl::Status& status);

  Stepper* const stepper_;
  const Progress progress_;
  Noise* const noise_;
  absl::Status status_;
  std::function<torch::Tensor(const ParameterGroup& group)> terms_;
  torch::Tensor reward_weights_;
  std::vector<double> evaluated_rewards_;
  std::map<std::string, torch::Tensor> priorities_;  // By table; "" is the only one.
  std::vector<std::pair<std::string, torch::Tensor>> metrics_;
};

}  // namespace waggle
