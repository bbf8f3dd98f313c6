#include "learner/group/shared_steps.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/nn/torch_compat.h"

namespace waggle {

SharedSteps::SharedSteps(const GradientServerOptions& options, int64_t learners, std::vector<ParameterGroup*> groups)
    : options_(options), batch_(std::min(options.primary_batch, learners)) {
  const torch::NoGradGuard no_grad;
  for (ParameterGroup* const group : groups) {
    Parameters parameters;
    parameters.group = group;
    parameters.values = group->values().detach().clone();
    parameters.sum = torch::zeros_like(parameters.values);
    parameters_.push_back(std::move(parameters));
  }
}

torch::Tensor SharedSteps::NewBuffer(int64_t group) const {
  return torch::empty_like(parameters_[static_cast<size_t>(group)].sum, torch::kCPU);
}

void SharedSteps::SetProgress(const Progress& progress) {
  MutexLock lock(&mutex_);
  progress_ = progress;
  changed_.SignalAll();
}

double SharedSteps::Scale(int64_t age) const {
  const int64_t excess = options_.max_staleness.has_value() ? std::max<int64_t>(0, age - *options_.max_staleness) : 0;
  if (excess == 0) {
    return 1;
  }
  return options_.stale == "scale" ? 1 / (1 + static_cast<double>(excess)) : 0;
}

absl::StatusOr<PushOutcome> SharedSteps::Push(int64_t group, int64_t based_on, const torch::Tensor& gradient,
                                              torch::Tensor newest) {
  if (group < 0 || group >= groups() || gradient.numel() != size(group) || newest.numel() != size(group)) {
    return absl::InvalidArgumentError(absl::StrCat("a gradient of ", gradient.numel(), " numbers of parameter group ",
                                                   group, "; wanted one of the ", groups(),
                                                   " groups, and as many numbers as it has"));
  }
  const torch::NoGradGuard no_grad;
  Parameters& parameters = parameters_[static_cast<size_t>(group)];
  PushOutcome outcome;
  MutexLock lock(&mutex_);
  if (based_on < 0 || based_on > parameters.steps) {
    return absl::InvalidArgumentError(absl::StrCat("a gradient of the values after step ", based_on,
                                                   " of parameter group ", parameters.group->name(), "; wanted 0 to ",
                                                   parameters.steps));
  }
  while (!abandoned_ && (ended_ || !progress_.has_value())) {
    changed_.Wait(&mutex_);
  }
  const double scale = Scale(parameters.steps - based_on);
  if (scale == 0) {
    outcome.verdict = GradientVerdict::kStale;
  } else if (!abandoned_) {
    WAGGLE_RETURN_IF_ERROR(CatchTorch(
        "adding up gradients", [&] { parameters.sum.add_(gradient.view({-1}).to(parameters.sum.device()), scale); }));
    if (parameters.round == nullptr) {
      parameters.round = std::make_shared<Round>();
      parameters.round->flush_at = SteadyNow() + absl::Seconds(options_.flush_seconds);
    }
    const std::shared_ptr<Round> round = parameters.round;
    ++round->gathered;
    while (!abandoned_ && !round->verdict.has_value()) {
      const absl::Duration left = round->flush_at - SteadyNow();
      if (ended_) {
        changed_.Wait(&mutex_);
      } else if (round->gathered >= batch_ || left <= absl::ZeroDuration()) {
        Step(&parameters);
      } else {
        changed_.WaitFor(&mutex_, left);
      }
    }
    outcome.verdict = round->verdict.value_or(outcome.verdict);
  }
  if (abandoned_) {
    return absl::AbortedError("pushing a gradient: the group is abandoned");
  }
  WAGGLE_RETURN_IF_ERROR(CatchTorch("copying parameters", [&] { newest.view({-1}).copy_(parameters.values); }));
  outcome.steps = parameters.steps;
  outcome.learner_steps = progress_->learner_steps;
  return outcome;
}

void SharedSteps::Step(Parameters* parameters) {
  ParameterGroup* const group = parameters->group;
  absl::Status stepped;
  const absl::Status caught = CatchTorch("stepping an optimizer", [&] {
    if (options_.reduce == "mean") {
      parameters->sum.div_(parameters->round->gathered);
    }
    stepped = group->optimizer().Step(parameters->values, parameters->sum, group->learning_rate().At(*progress_));
    parameters->sum.zero_();
  });
  stepped.Update(caught);
  if (stepped.ok()) {
    ++parameters->steps;
  } else {
    LogWarning("gradients of parameter group ", group->name(), " are refused: ", stepped.message());
  }
  parameters->round->verdict = stepped.ok() ? GradientVerdict::kApplied : GradientVerdict::kNotFinite;
  parameters->round = nullptr;
  changed_.SignalAll();
}

absl::Status SharedSteps::WithNewest(absl::FunctionRef<absl::Status()> use) {
  const torch::NoGradGuard no_grad;
  MutexLock lock(&mutex_);
  WAGGLE_RETURN_IF_ERROR(CatchTorch("copying parameters", [&] {
    for (const Parameters& parameters : parameters_) {
      torch::Tensor values = parameters.group->values();
      values.copy_(parameters.values);
    }
  }));
  return use();
}

void SharedSteps::End() {
  MutexLock lock(&mutex_);
  ended_ = true;
  changed_.SignalAll();
}

void SharedSteps::Abandon() {
  MutexLock lock(&mutex_);
  abandoned_ = true;
  changed_.SignalAll();
}

}  // namespace waggle
