#include "actor/evaluation/evaluation_loop.h"

#include "actor/acting/weight_refresher.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {

EvaluationLoop::EvaluationLoop(const EvaluationLoopOptions& options, const Backoff& backoff, const Parts& parts)
    : options_(options), backoff_(backoff), parts_(parts) {}

absl::Status EvaluationLoop::Run(const StopToken& stop) {
  absl::Status status = parts_.turns != nullptr ? RunInTurns(stop) : absl::OkStatus();
  while (status.ok() && !stop.StopRequested()) {
    const auto weights = PullWeights(/*wait=*/true, stop);
    if (weights.ok() && weights->has_value() && !IsDue((*weights)->version)) {
      continue;  // A learner that has come back publishes an earlier step.
    }
    const Deadline next(options_.period);
    status = EvaluateIfAny(weights, stop);
    if (status.ok()) {
      // Training's end cuts the pause short, so that the last weights are evaluated.
      parts_.hub->training_over().WaitFor(next.Left());
    }
  }
  return stop.StopRequested() && absl::IsCancelled(status) ? absl::OkStatus() : status;
}

absl::Status EvaluationLoop::RunInTurns(const StopToken& stop) {
  while (true) {
    parts_.metrics->SetActivity("waiting for its turn");
    const absl::Status turn = parts_.turns->Await(stop).status();
    if (absl::IsCancelled(turn) && parts_.hub->training_over().StopRequested()) {
      return absl::OkStatus();
    }
    WAGGLE_RETURN_IF_ERROR(turn);
    // The newest weights are published by now. If they were evaluated there is nothing to do.
    WAGGLE_RETURN_IF_ERROR(EvaluateIfAny(PullWeights(/*wait=*/false, stop), stop));
    parts_.turns->End();
  }
}

absl::Status EvaluationLoop::EvaluateIfAny(const absl::StatusOr<std::optional<ModelSnapshot>>& weights,
                                           const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(weights.status());
  return weights->has_value() ? EvaluateOne(**weights, stop) : absl::OkStatus();
}

bool EvaluationLoop::IsDue(const ModelVersion& version) const {
  return version.version >= due_ || parts_.hub->training_over().StopRequested();
}

absl::Status EvaluationLoop::AwaitWeights(const StopToken& stop) {
  const StopToken& training_over = parts_.hub->training_over();
  if (seen_.has_value() && !IsDue(*seen_)) {
    const StopToken until;
    const StopToken::Callback stops(stop, [until] { until.RequestStop(); });
    const StopToken::Callback ends(training_over, [until] { until.RequestStop(); });
    const absl::Status waited = parts_.subscriber->WaitNewer(ModelVersion{seen_->epoch, due_ - 1}, until);
    if (stop.StopRequested() || !training_over.StopRequested()) {
      return waited;
    }
  }
  return parts_.subscriber->WaitNewer(evaluated_, stop);
}

absl::StatusOr<std::optional<ModelSnapshot>> EvaluationLoop::PullWeights(bool wait, const StopToken& stop) {
  parts_.metrics->SetActivity("waiting for weights");
  if (!evaluated_.has_value()) {
    LogInfo("waiting for the first weights");
  }
  while (true) {
    absl::StatusOr<std::optional<ModelSnapshot>> weights = std::optional<ModelSnapshot>();
    const absl::Status waited = wait ? AwaitWeights(stop) : absl::OkStatus();
    weights = waited.ok() ? parts_.subscriber->PullNewer(evaluated_, stop) : waited;
    if (weights.ok() || !IsServerAway(weights.status())) {
      backoff_.Reset();
      seen_ = weights.ok() && weights->has_value() ? (*weights)->version : seen_;
      return weights;
    }
    LogWarning("no weights to evaluate for the moment: ", weights.status().message());
    if (stop.WaitFor(backoff_.Next())) {
      return absl::CancelledError("waiting for weights was stopped");
    }
  }
}

absl::Status EvaluationLoop::EvaluateOne(const ModelSnapshot& snapshot, const StopToken& stop) {
  parts_.metrics->SetActivity("evaluating");
  WAGGLE_RETURN_IF_ERROR(parts_.policy->LoadWeights(snapshot));
  WAGGLE_ASSIGN_OR_RETURN(const bool reached, EvaluateOnce(snapshot, options_.episodes, stop));
  evaluated_ = snapshot.version;
  if (const auto period = static_cast<uint64_t>(options_.period_steps); period > 0 && parts_.turns == nullptr) {
    due_ = (snapshot.version.version / period + 1) * period;
  }
  if (reached) {
    LogInfo("version ", snapshot.version.version, " reaches the target; evaluating it again, over ",
            options_.confirm_episodes, " episodes");
    WAGGLE_RETURN_IF_ERROR(EvaluateOnce(snapshot, options_.confirm_episodes, stop).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> EvaluationLoop::EvaluateOnce(const ModelSnapshot& snapshot, int64_t episodes,
                                                  const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(Evaluation evaluation, parts_.evaluator->Evaluate(episodes, stop));
  evaluation.version = snapshot.version;
  evaluation.env_steps = static_cast<uint64_t>(snapshot.progress.env_steps);
  parts_.hub->ReportEvaluation(evaluation);
  parts_.metrics->Add("evaluations", 1);
  LogInfo("version ", snapshot.version.version, ": mean return ", evaluation.mean_return, " over ", evaluation.episodes,
          " episodes, from ", evaluation.min_return, " to ", evaluation.max_return);
  return options_.target_return.has_value() && evaluation.mean_return >= *options_.target_return;
}

}  // namespace waggle
