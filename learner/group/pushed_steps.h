#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "common/config/experiment/sections.h"
#include "common/config/schedule.h"
#include "common/nn/parameter_group.h"
#include "learner/group/collective.h"
#include "learner/group/shared_steps.h"

namespace waggle {

// One learner's end of a group in which each learner pushes its gradients to the first, which steps for all. One
// thread, beside those that serve the other learners at the first.
class PushedSteps {
 public:
  // `groups` are the parameter groups of this learner's model, in an order that all learners have. `abandoned` is the
  // collective's. It ends all waits, and must be stopped before the object is destroyed; it is stopped here if a
  // learner cannot be served. Counts gradients_pushed, gradients_applied, gradients_refused and
  // gradients_refused_REASON. The collective, the groups and the metrics must outlive it.
  PushedSteps(const GradientServerOptions& options, int rank, int size, Collective* collective,
              const std::vector<ParameterGroup*>& groups, Metrics* metrics, const StopToken& abandoned);
  PushedSteps(const PushedSteps&) = delete;
  PushedSteps& operator=(const PushedSteps&) = delete;

  // Tells the first learner's progress, on which learning rates depend. Does nothing at the others.
  void SetProgress(const Progress& progress);

  // Pushes the group's gradient, and replaces its values by the newest. INVALID_ARGUMENT if the gradient is not finite;
  // ABORTED if the group of learners has ended.
  absl::Status Step(ParameterGroup* group);

  // Calls `use`; at the first learner while its values are the newest and its optimizers are at rest.
  absl::Status WithNewest(absl::FunctionRef<absl::Status()> use);

  // The norm of the gradient of this parameter group's last step, before clipping; undefined but at the first learner.
  torch::Tensor GradientNorm(const std::string& group) const { return places_.at(group).gradient_norm; }
  // The first learner's steps when it last answered; 0 before the first answer.
  int64_t learner_steps() const { return learner_steps_; }

  // Ends all steps, at the first learner. The others wait until the group ends.
  void End();

 private:
  struct Place {
    int64_t index = 0;
    int64_t steps = 0;            // Those that this learner's values have.
    torch::Tensor gradient_norm;  // See GradientNorm.
  };

  // Sends the gradient to the first, and receives its answer and the newest values. After an error these are as before.
  absl::StatusOr<PushOutcome> Ask(const Place& place, ParameterGroup* group);
  // Answers a learner's pushes until the group ends.
  absl::Status Serve(int rank);

  Collective* const collective_;
  Metrics* const metrics_;
  std::map<std::string, Place> places_;  // By the parameter group's name.
  int64_t learner_steps_ = 0;
  std::unique_ptr<SharedSteps> shared_;  // Null, but at the first.
  std::unique_ptr<StopToken::Callback> on_abandoned_;
  std::vector<Thread> servers_;
};

}  // namespace waggle
