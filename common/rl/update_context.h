#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/config/schedule.h"
#include "common/nn/parameter_group.h"
#include "common/nn/torch.h"
#include "common/rl/noise.h"
#include "common/rl/stepper.h"

namespace waggle {

// What one update may do to the world. After a first error it does nothing more, and the update's caller returns that
// error: no algorithm writes error paths between its losses.
class UpdateContext {
 public:
  // All of it outlives the context.
  UpdateContext(Stepper* stepper, const Progress& progress, Noise* noise)
      : stepper_(stepper), progress_(progress), noise_(noise) {}

  // theta <- Stepper(gradient of the loss by theta), where theta are the group's parameters: gradients flow into these
  // and no others. True if their values changed. The loss is a scalar, and is reported as "GROUP_loss". One that is not
  // finite is an error, found here on the CPU and by the stepper elsewhere.
  bool Descend(const torch::Tensor& loss, ParameterGroup* group);

  // The mean of `value`, which stays on the device, is read when metrics are logged.
  void Report(const std::string& name, const torch::Tensor& value);

  // [rows] of the batch of a table of the plan, or of its only one, at least 0: its items' new priorities.
  void SetPriorities(const std::string& table, const torch::Tensor& priorities) {
    priorities_[table] = priorities.detach();
  }
  void SetPriorities(const torch::Tensor& priorities) { SetPriorities("", priorities); }

  const Progress& progress() const { return progress_; }
  // The algorithm's own.
  Noise* noise() const { return noise_; }

  const absl::Status& status() const { return status_; }
  // What was set for the table, or for the only one; undefined where nothing was.
  torch::Tensor priorities(const std::string& table = "") const;
  std::vector<std::pair<std::string, torch::Tensor>> TakeMetrics() { return std::move(metrics_); }

 private:
  Stepper* const stepper_;
  const Progress progress_;
  Noise* const noise_;
  absl::Status status_;
  std::map<std::string, torch::Tensor> priorities_;  // By table; "" is the only one.
  std::vector<std::pair<std::string, torch::Tensor>> metrics_;
};

}  // namespace waggle
