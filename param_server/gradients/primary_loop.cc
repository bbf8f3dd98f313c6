#include "param_server/gradients/primary_loop.h"

#include <algorithm>
#include <utility>

#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"

namespace waggle {
namespace {

constexpr char kSettled[] = "gradients/settled";
constexpr absl::Duration kFinishTimeout = absl::Seconds(2);
// Shorter than `waggle run` waits for a process to end.
constexpr absl::Duration kLastCheckpointTimeout = absl::Seconds(8);
constexpr absl::Duration kSavePause = absl::Milliseconds(500);

}  // namespace

absl::Status RestorePrimary(const CheckpointContents& contents, SteppedParameters* parameters,
                            SettledGradients* settled) {
  const auto text = contents.texts.find(kSettled);
  if (text == contents.texts.end()) {
    return absl::FailedPreconditionError("the checkpoint is no primary's: it does not say what was applied");
  }
  WAGGLE_ASSIGN_OR_RETURN(SettledGradients restored, SettledGradients::FromText(text->second));
  WAGGLE_RETURN_IF_ERROR(parameters->Restore(contents));
  *settled = std::move(restored);
  return absl::OkStatus();
}

PrimaryLoop::PrimaryLoop(const PrimaryLoopOptions& options, const PrimaryLoopPorts& ports,
                         SteppedParameters* parameters, SettledGradients* settled)
    : options_(options),
      ports_(ports),
      parameters_(parameters),
      settled_(settled),
      primary_(options.primary, parameters, settled, ports.metrics,
               [hub = ports.hub] { return hub->assignment().progress; }),
      publisher_(ports.publisher, {[hub = ports.hub] { return hub->assignment().model_version; }}),
      saver_(ports.checkpoints == nullptr ? nullptr : std::make_unique<AsyncSaver>(ports.checkpoints, ports.metrics)),
      checkpoints_(options.checkpoint_period),
      experiment_yaml_(options.experiment_yaml),
      seen_step_(options.primary.first_step) {}

absl::Status PrimaryLoop::Run() {
  // Steps before a restore count too: limits apply to the whole experiment.
  ports_.metrics->Add("learner_steps", static_cast<double>(seen_step_));
  ports_.metrics->SetActivity("waiting for gradients");
  WAGGLE_RETURN_IF_ERROR(Publish());
  const StopToken::Callback over(ports_.hub->training_over(), [done = done_] { done.RequestStop(); });
  if (primary_.over()) {  // Before the runner has it.
    done_.RequestStop();
  }
  ports_.runner->Start(&primary_, [this] { AfterWork(); });
  ports_.serve(parameters_->model());
  done_.Wait();
  absl::Status finished;
  InRunner([this] { primary_.End(); });
  InRunner([this, &finished] { finished = failure_.ok() ? Finish() : failure_; });
  return finished;
}

absl::Status PrimaryLoop::TakeSettings() {
  const std::string settings = ports_.set == nullptr ? settings_ : ports_.hub->assignment().settings;
  if (settings != settings_) {
    WAGGLE_ASSIGN_OR_RETURN(experiment_yaml_, ports_.set(settings));
    settings_ = settings;
  }
  return absl::OkStatus();
}

void PrimaryLoop::AfterWork() {
  failure_.Update(TakeSettings());
  const int64_t step = primary_.step();
  if (step == seen_step_ || done_.StopRequested()) {
    return;
  }
  if (seen_step_ == options_.primary.first_step) {
    checkpoints_.Begin(SteadyNow());
    ports_.metrics->SetActivity("stepping");
  }
  ports_.metrics->Add("learner_steps", static_cast<double>(step - seen_step_));
  ports_.metrics->Set("gradient_norm", parameters_->gradient_norm());
  const int64_t period = options_.publish_period_steps;
  const bool publishes = step / period != seen_step_ / period;
  seen_step_ = step;
  if (publishes) {
    failure_.Update(Publish());
  }
  if (saver_ != nullptr) {
    SaveIfDue(SteadyNow());
  }
  if (primary_.over() || !failure_.ok()) {
    done_.RequestStop();
  }
}

absl::Status PrimaryLoop::Publish() {
  const int64_t step = primary_.step();
  if (published_step_ == step) {
    return absl::OkStatus();
  }
  ModelSnapshot snapshot = parameters_->Snapshot();
  snapshot.version = {options_.primary.epoch, static_cast<uint64_t>(step)};
  snapshot.progress = ports_.hub->assignment().progress;
  snapshot.progress.learner_steps = step;
  published_step_ = step;
  return Annotate(publisher_.Publish(std::move(snapshot)), "publishing weights");
}

void PrimaryLoop::SaveIfDue(absl::Time now) {
  if (const std::optional<absl::Status> result = saver_->TakeResult()) {
    checkpoints_.Ended(result->ok(), now);
  }
  if (checkpoints_.IsDue(now) && !saver_->busy()) {
    checkpoints_.Started(now);
    saver_->Save(Checkpoint());
  }
}

CheckpointContents PrimaryLoop::Checkpoint() const {
  CheckpointContents contents;
  contents.step = primary_.step();
  parameters_->Save(&contents);
  contents.texts[kSettled] = settled_->ToText();
  contents.texts[kCheckpointRun] = options_.run;
  contents.texts[kCheckpointEpoch] = absl::StrCat(options_.primary.epoch);
  contents.texts[kCheckpointExperiment] = experiment_yaml_;
  return contents;
}

absl::Status PrimaryLoop::SaveLastCheckpoint() {
  const Deadline deadline(kLastCheckpointTimeout);
  saver_->Flush().IgnoreError();  // The last checkpoint replaces it.
  while (true) {
    saver_->Save(Checkpoint());
    const absl::Status written = saver_->Flush();
    if (written.ok() || deadline.Left() <= kSavePause) {
      return Annotate(written, "the last checkpoint could not be written");
    }
    StopToken().WaitFor(kSavePause);
  }
}

absl::Status PrimaryLoop::Finish() {
  ports_.metrics->SetActivity("finishing");
  ports_.metrics->Add("learner_steps", static_cast<double>(primary_.step() - seen_step_));
  seen_step_ = primary_.step();
  WAGGLE_RETURN_IF_ERROR(Publish());
  ports_.hub->ReportFinalVersion({options_.primary.epoch, static_cast<uint64_t>(primary_.step())});
  // The disk comes first: it matters most and is always there.
  const absl::Status saved = saver_ == nullptr ? absl::OkStatus() : SaveLastCheckpoint();
  const absl::Status flushed =
      publisher_.FlushLast(kFinishTimeout, &ports_.hub->run_over(), /*has_checkpoint=*/saver_ != nullptr && saved.ok());
  return saved.ok() ? flushed : saved;
}

void PrimaryLoop::InRunner(const std::function<void()>& function) {
  const StopToken called;
  ports_.runner->Post([&function, called] {
    function();
    called.RequestStop();
  });
  called.Wait();
}

}  // namespace waggle
