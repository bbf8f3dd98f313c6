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
  int64_t steps = 0;          // The parameter group's, with this one.
  int64_t learner_steps = 0;  // The run's, at the first learner.
};

// The present parameters of several learners, and the steps that their gradients make: a round of each parameter group
// gathers gradients until there are `primary_batch` (or one of each learner, if those are fewer), or until its first
// has waited for `flush_seconds`, and then makes a step. As the update worker of PyTorchRL (Bou and De Fabritiis 2020,
// arXiv 2007.02622). Thread-safe.
class SharedSteps {
 public:
  // Begins with the groups' values and optimizers; uses these optimizers, and may write the values in WithNewest. The
  // groups must outlive the object.
  SharedSteps(const GradientServerOptions& options, int64_t learners, std::vector<ParameterGroup*> groups);

  int64_t groups() const { return static_cast<int64_t>(parameters_.size()); }
  // The number of parameters in a group, from 0.
  int64_t size(int64_t group) const { return parameters_[static_cast<size_t>(group)].group->values().numel(); }
  // Uninitialised, [size(group)], on the CPU.
  torch::Tensor NewBuffer(int64_t group) const;

  // Sets the progress that later steps have their learning rates of. No step is made before the first call.
  void SetProgress(const Progress& progress);

  // Takes a finite gradient, [size(group)], of the values that the group had after `based_on` steps. Waits for the step
  // that has it, or for its refusal, and copies the group's newest values to `newest`, [size(group)]. ABORTED after
  // Abandon; INVALID_ARGUMENT if there is no such group or number of steps, or if a tensor has another size.
  absl::StatusOr<PushOutcome> Push(int64_t group, int64_t based_on, const torch::Tensor& gradient,
                                   torch::Tensor newest);

  // Calls `use` while the groups have the newest values and no step is made. Returns its status.
  absl::Status WithNewest(absl::FunctionRef<absl::Status()> use);

  // Makes no step from now on. Gradients are not answered.
  void End();
  // Fails all that wait for a step, now and later.
  void Abandon();

 private:
  struct Round {
    int64_t gathered = 0;
    absl::Time flush_at;                     // On the steady clock.
    std::optional<GradientVerdict> verdict;  // Absent: it is not over.
  };
  // A parameter group's newest values, and the gradients of its next step.
  struct Parameters {
    ParameterGroup* group = nullptr;
    torch::Tensor values;
    torch::Tensor sum;
    int64_t steps = 0;
    std::shared_ptr<Round> round;  // The present one; null: it has no gradients yet.
  };

  // The scale of a gradient of this age; 0: it is refused.
  double Scale(int64_t age) const;
  // Ends the round by a step.
  void Step(Parameters* parameters) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const GradientServerOptions options_;
  const int64_t batch_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Parameters> parameters_;  // The sizes are constant; all else is guarded by mutex_.
  std::optional<Progress> progress_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
