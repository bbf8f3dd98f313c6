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
    : options_(options), batch_(std::min(options.primary_batch, learners)), groups_(std::move(groups)) {
  const torch::NoGradGuard no_grad;
  for (const ParameterGroup* const group : groups_) {
    Parameters parameters;
    parameters.values = group->values().detach().clone();
    parameters.sum = torch::zeros_like(parameters.values);
    parameters_.push_back(std::move(parameters));
  }
}

torch::Tensor SharedSteps::NewBuffer(int64_t group) const {
  return torch::empty_like(groups_[static_cast<size_t>(group)]->values(), torch::kCPU);
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
  if (group < 0 || group >= groups()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter group of a gradient: got ", group, "; wanted 0 to ", groups() - 1));
  }
  if (gradient.numel() != size(group) || newest.numel() != size(group)) {
    return absl::InvalidArgumentError(absl::StrCat("numbers of a gradient: got ", gradient.numel(), ", and room for ",
                                                   newest.numel(), "; wanted ", size(group)));
  }
  const torch::NoGradGuard no_grad;
  PushOutcome outcome;
  MutexLock lock(&mutex_);
  Parameters& parameters = parameters_[static_cast<size_t>(group)];
  if (based_on < 0 || based_on > parameters.steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("steps before a gradient: got ", based_on, "; wanted 0 to ", parameters.steps));
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
    if (AwaitStep(groups_[static_cast<size_t>(group)], &parameters, *round)) {
      // An optimizer on an accelerator says later that a sum was not finite, and steps no more.
      const bool is_refused = absl::IsInvalidArgument(*round->stepped) && parameters.values.is_cpu();
      if (!round->stepped->ok() && !is_refused) {
        return *round->stepped;
      }
      outcome.verdict = is_refused ? GradientVerdict::kNotFinite : GradientVerdict::kApplied;
      outcome.gradient_norm = round->gradient_norm;
    }
  }
  if (abandoned_) {
    return absl::AbortedError("pushing a gradient: the group is abandoned");
  }
  WAGGLE_RETURN_IF_ERROR(CatchTorch("copying parameters", [&] { newest.view({-1}).copy_(parameters.values); }));
  outcome.steps = parameters.steps;
  outcome.learner_steps = progress_->learner_steps;
  return outcome;
}

bool SharedSteps::AwaitStep(ParameterGroup* group, Parameters* parameters, const Round& round) {
  while (!abandoned_ && !round.stepped.has_value()) {
    const absl::Duration left = round.flush_at - SteadyNow();
    if (ended_) {
      changed_.Wait(&mutex_);
    } else if (round.gathered >= batch_ || left <= absl::ZeroDuration()) {
      StepLocked(group, parameters);
    } else {
      changed_.WaitFor(&mutex_, left);
    }
  }
  return round.stepped.has_value();
}

void SharedSteps::StepLocked(ParameterGroup* group, Parameters* parameters) {
  Round& round = *parameters->round;
  const double rate = group->learning_rate().At(*progress_);
  absl::Status stepped;
  stepped.Update(CatchTorch("stepping an optimizer", [&] {
    if (options_.reduce == "mean") {
      parameters->sum.div_(round.gathered);
    }
    stepped = group->optimizer().Step(parameters->values, parameters->sum, rate);
    if (stepped.ok()) {
      round.gradient_norm = group->optimizer().gradient_norm().clone();
    }
  }));
  stepped.Update(CatchTorch("emptying a sum", [&] { parameters->sum.zero_(); }));
  if (stepped.ok()) {
    ++parameters->steps;
  } else {
    LogWarning("gradients of parameter group ", group->name(), " make no step: ", stepped.message());
  }
  round.stepped = stepped;
  parameters->round = nullptr;
  changed_.SignalAll();
}

absl::Status SharedSteps::WithNewest(absl::FunctionRef<absl::Status(const std::vector<int64_t>& steps)> use) {
  const torch::NoGradGuard no_grad;
  MutexLock lock(&mutex_);
  std::vector<int64_t> steps;
  for (size_t i = 0; i < groups_.size(); ++i) {
    torch::Tensor values = groups_[i]->values();
    const torch::Tensor& newest = parameters_[i].values;
    WAGGLE_RETURN_IF_ERROR(CatchTorch("copying parameters", [&] { values.copy_(newest); }));
    steps.push_back(parameters_[i].steps);
  }
  return use(steps);
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
