#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/mutex.h"
#include "common/config/experiment/sections.h"
#include "common/config/schedule.h"
#include "common/hub/ports/gradients.h"
#include "common/nn/parameter_group.h"
#include "common/nn/torch.h"

namespace waggle {

// The outcome of a pushed gradient.
struct PushOutcome {
  GradientVerdict verdict = GradientVerdict::kApplied;
  int64_t steps = 0;            // Those of the parameter group, with this gradient's.
  int64_t learner_steps = 0;    // Those of the first learner.
  torch::Tensor gradient_norm;  // A copy of Optimizer::gradient_norm; undefined if the gradient is refused.
};

// The present parameters of several learners, and the steps that their gradients make: a round of each parameter group
// gathers gradients until there are `primary_batch` (or one of each learner, if those are fewer), or until its first
// has waited for `flush_seconds`, and then makes a step. PyTorchRL's update worker (Bou and De Fabritiis 2020, arXiv
// 2007.02622) does the same. Thread-safe. One lock guards all groups: WithNewest needs them at rest, and each learner
// steps them one after the other.
class SharedSteps {
 public:
  // Begins with the groups' values and optimizers; uses these optimizers, and may write the values in WithNewest. The
  // groups must outlive the object.
  SharedSteps(const GradientServerOptions& options, int64_t learners, std::vector<ParameterGroup*> groups);

  int64_t groups() const { return static_cast<int64_t>(groups_.size()); }
  // The number of parameters in a group, from 0.
  int64_t size(int64_t group) const { return groups_[static_cast<size_t>(group)]->values().numel(); }
  // Uninitialised, [size(group)], on the CPU.
  torch::Tensor NewBuffer(int64_t group) const;

  // Sets the progress, on which the learning rates of later steps depend. No step is made before the first call.
  void SetProgress(const Progress& progress);

  // Takes a finite gradient, [size(group)], of the values that the group had after `based_on` steps. Waits for the step
  // that has it, or for its refusal, and copies the group's newest values to `newest`, [size(group)]. The verdict is
  // kNotFinite if the sum with others is not finite. ABORTED after Abandon; INVALID_ARGUMENT if there is no such group
  // or number of steps, or if a tensor has another size; other errors are the optimizer's.
  absl::StatusOr<PushOutcome> Push(int64_t group, int64_t based_on, const torch::Tensor& gradient,
                                   torch::Tensor newest);

  // Calls `use` while the groups have the newest values and no step is made, with the number of steps of each. Returns
  // its status.
  absl::Status WithNewest(absl::FunctionRef<absl::Status(const std::vector<int64_t>& steps)> use);

  // Makes no step from now on. Gradients are not answered.
  void End();
  // Fails all that wait for a step, now and later.
  void Abandon();

 private:
  struct Round {
    int64_t gathered = 0;
    absl::Time flush_at;                  // On the steady clock.
    std::optional<absl::Status> stepped;  // The step's status. Absent: the round is not over.
    torch::Tensor gradient_norm;
  };
  // A parameter group's newest values, and the gradients of its next step.
  struct Parameters {
    torch::Tensor values;
    torch::Tensor sum;
    int64_t steps = 0;
    std::shared_ptr<Round> round;  // The present one; null: it has no gradients yet.
  };

  // The scale of a gradient of this age; 0: it is refused.
  double Scale(int64_t age) const;
  // Waits until the round is over, or ends it by a step. False if the learners' group is abandoned before.
  bool AwaitStep(ParameterGroup* group, Parameters* parameters, const Round& round)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the present round by a step.
  void StepLocked(ParameterGroup* group, Parameters* parameters) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const GradientServerOptions options_;
  const int64_t batch_;
  const std::vector<ParameterGroup*> groups_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Parameters> parameters_ ABSL_GUARDED_BY(mutex_);  // By group.
  std::optional<Progress> progress_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
