#include "learner/train_loop.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/metrics/waiting_gauge.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/stopwatch.h"
#include "common/base/threads/flush_until_stopped.h"
#include "common/base/threads/thread.h"
#include "common/nn/torch_compat.h"
#include "common/rl/training/learner_checkpoint.h"

namespace waggle {
namespace {

// The pause before the last checkpoint is tried again.
constexpr absl::Duration kFirstSavePause = absl::Milliseconds(100);
constexpr absl::Duration kLongestSavePause = absl::Seconds(1);
// Long enough for a heartbeat to carry the reports.
constexpr absl::Duration kShortestLifetime = absl::Seconds(2);

}  // namespace

TrainLoop::TrainLoop(const TrainLoopOptions& options, const TrainLoopPorts& ports, Trainee* trainee, Stepper* stepper)
    : options_(options),
      ports_(ports),
      trainee_(trainee),
      stepper_(stepper),
      saver_(ports.checkpoints != nullptr ? std::make_unique<AsyncSaver>(ports.checkpoints, ports.metrics) : nullptr),
      checkpoints_(absl::Seconds(options.learner.checkpoint.period_seconds)),
      experiment_yaml_(options.experiment_yaml),
      step_(options.first_step),
      epoch_(options.epoch),
      counted_(options.counted) {
  TableFeedOptions feed{options.device, options.learner.priority_update_steps, options.learner.max_policy_lag};
  for (const TrainLoopPorts::Table& table : ports.tables) {
    feed.parts = table.parts;
    feeds_.push_back(std::make_unique<TableFeed>(feed, table.sampler, table.priorities));
  }
}

absl::Status TrainLoop::Run(const StopToken& stop) {
  last_report_ = SteadyNow();
  if (saver_ != nullptr) {
    ports_.metrics->Set("process/checkpoint_period_seconds", options_.learner.checkpoint.period_seconds);
  }
  if (ports_.group == nullptr) {
    // Steps before a restore count too: limits are for the whole experiment.
    ports_.metrics->Add("learner_steps", static_cast<double>(step_ - options_.reported_steps));
    reported_step_ = step_;
    BeginPublishing();
    WAGGLE_RETURN_IF_ERROR(Publish());
  }
  absl::Status trained;
  {
    const WaitingGauge gauge(ports_.metrics, {"learning", "waiting for items"}, [this] {
      WaitingGauge::Wait wait;
      for (const auto& feed : feeds_) {
        const ReplaySampler::Stats stats = feed->sampler().stats();
        wait.total += stats.waited;
        wait.waiting = wait.waiting || stats.waiting;
      }
      if (ports_.turns != nullptr) {
        const TurnTaker::Stats turns = ports_.turns->stats();
        wait.total += turns.waited;
        wait.waiting = wait.waiting || turns.waiting;
        wait.for_what = turns.waiting ? "waiting for its turn" : nullptr;
      }
      if (meeting_) {
        wait.waiting = true;
        wait.for_what = "waiting for the other learners";
      }
      return wait;
    });
    trained = ports_.group != nullptr ? TrainInGroups(stop) : Train(stop);
  }
  if (absl::IsAborted(trained)) {
    return trained;
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(trained, absl::StrCat("learner step ", step_ + 1)));
  ports_.metrics->SetActivity("finishing");
  return Finish();
}

absl::Status TrainLoop::Train(const StopToken& stop) {
  absl::Status status;
  while (status.ok() && !IsDone() && !stop.StopRequested()) {
    status = ports_.turns != nullptr ? TakeTurn(stop) : LearnOnce(stop);
  }
  // Training normally ends by a stop.
  return stop.StopRequested() && absl::IsCancelled(status) ? absl::OkStatus() : status;
}

absl::Status TrainLoop::TrainInGroups(const StopToken& stop) {
  GroupMember& group = *ports_.group;
  absl::Status status = Regroup(stop);
  while (status.ok() && !stop.StopRequested() && !(IsDone() && is_first())) {
    if (IsDone()) {
      // The first learner may be lost before all members know that it is done.
      group.abandoned().Wait();
    } else {
      status = LearnOnce(group.abandoned());
    }
    const bool broken = absl::IsAborted(status) || group.abandoned().StopRequested();
    if (broken && !stop.StopRequested()) {
      LogInfo("the group of epoch ", group.epoch(), " ends at step ", step_,
              status.ok() ? "" : absl::StrCat(": ", status.message()));
      status = Regroup(stop);
    }
  }
  if (pushed() != nullptr) {
    pushed()->End();
  }
  const bool ended = absl::IsCancelled(status) || absl::IsAborted(status);
  return stop.StopRequested() && ended ? absl::OkStatus() : status;
}

absl::Status TrainLoop::Regroup(const StopToken& stop) {
  meeting_ = true;
  const absl::Status met = ports_.group->Attend(options_.algorithm, trainee_, &step_, stop);
  meeting_ = false;
  WAGGLE_RETURN_IF_ERROR(met);
  epoch_ = ports_.group->epoch();
  publisher_.reset();
  published_step_ = -1;
  if (!is_first()) {
    return absl::OkStatus();
  }
  BeginPublishing();
  checkpoints_.Begin(SteadyNow());
  return Publish();
}

void TrainLoop::BeginPublishing() {
  publisher_.emplace(ports_.publisher, AsyncPublisherOptions{ports_.known_version, options_.publish_patience});
}

absl::Status TrainLoop::TakeTurn(const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const Assignment assignment, ports_.turns->Await(stop));
  if (assignment.turn->cut != 0) {
    return MakeCutInTurn(assignment.turn->cut, stop);
  }
  const int64_t items = assignment.turn->items;
  turn_progress_ = assignment.progress;
  if (!counted_.has_value()) {
    counted_ = {items, step_};
  }
  {
    const StopToken until;
    const StopToken over;
    const StopToken::Callback stops(stop, [until] { until.RequestStop(); });
    const Thread watch("turn", [this, over, until] { StopIfStarved(over, until); });
    const absl::Status learned = LearnFrom(items, until);
    over.RequestStop();
    const bool starved = absl::IsCancelled(learned) && !stop.StopRequested();
    if (!learned.ok() && !starved) {
      return learned;
    }
    if (starved) {
      LogWarning("no batch came for ", absl::FormatDuration(options_.turn_patience), " of ", items,
                 " written items: the rest of them is lost, and the turn ends");
      counted_ = {items, step_};
    }
  }
  WAGGLE_RETURN_IF_ERROR(Publish());
  const auto flush = [this](absl::Duration timeout) { return publisher_->Flush(timeout); };
  WAGGLE_RETURN_IF_ERROR(Annotate(FlushUntilStopped(flush, stop), "publishing weights"));
  WAGGLE_RETURN_IF_ERROR(Report());
  ports_.turns->End();
  return absl::OkStatus();
}

absl::Status TrainLoop::LearnFrom(int64_t items, const StopToken& until) {
  while (!IsDone() &&
         static_cast<double>(step_ - counted_->steps + 1) <= options_.quota.Steps(items - counted_->items)) {
    WAGGLE_RETURN_IF_ERROR(LearnOnce(until));
    for (const auto& feed : feeds_) {
      WAGGLE_RETURN_IF_ERROR(feed->priorities().Send());
      const auto flush = [&feed](absl::Duration timeout) { return feed->updater().Flush(timeout); };
      WAGGLE_RETURN_IF_ERROR(Annotate(FlushUntilStopped(flush, until), "applying priorities"));
    }
  }
  return absl::OkStatus();
}

void TrainLoop::StopIfStarved(const StopToken& over, const StopToken& until) const {
  uint64_t batches = 0;
  Stopwatch since;
  while (!over.WaitFor(options_.turn_patience / 10)) {
    uint64_t now = 0;
    bool waiting = false;
    for (const auto& feed : feeds_) {
      const ReplaySampler::Stats stats = feed->sampler().stats();
      now += stats.batches;
      waiting = waiting || stats.waiting;
    }
    if (!waiting || now != batches) {
      batches = now;
      since = Stopwatch();
    } else if (since.Elapsed() >= options_.turn_patience) {
      until.RequestStop();
    }
  }
}

absl::Status TrainLoop::LearnOnce(const StopToken& stop) {
  const Stopwatch since;
  for (size_t table = 0; table < feeds_.size(); ++table) {
    if (!IsDrawn(table)) {
      continue;
    }
    if (const absl::Status sampled = feeds_[table]->Next(step_, stop); !sampled.ok()) {
      return stop.StopRequested() ? absl::CancelledError("stopped while sampling") : Annotate(sampled, "sampling");
    }
  }
  phases_.sampling += since.Elapsed();
  return TrainStep(stop);
}

absl::Status TrainLoop::TrainStep(const StopToken& stop) {
  std::vector<const TensorBatch*> batches;
  batches.reserve(feeds_.size());
  for (size_t table = 0; table < feeds_.size(); ++table) {
    batches.push_back(IsDrawn(table) ? &feeds_[table]->batch() : nullptr);
  }
  WAGGLE_ASSIGN_OR_RETURN(const Progress progress, BeginStep());
  const Stopwatch since;
  const absl::StatusOr<UpdateResult> updated = trainee_->Update(batches, progress, stepper_);
  if (!updated.ok()) {
    ports_.metrics->Add("process/updates_failed", absl::IsCancelled(updated.status()) ? 0 : 1);
    return updated.status();
  }
  const UpdateResult& result = *updated;
  phases_.updating += since.Elapsed();
  ++phases_.steps;
  // A learner that pushes gradients counts the first's steps, as all that depends on them must be alike.
  step_ = pushed() != nullptr && !is_first() ? pushed()->learner_steps() : step_ + 1;
  if (pushed() != nullptr && IsDone()) {
    pushed()->End();  // No step comes after the last weights that are published.
  }
  WAGGLE_RETURN_IF_ERROR(algorithm_metrics_.Add(result.metrics));
  for (size_t table = 0; table < result.priorities.size(); ++table) {
    if (batches[table] != nullptr) {
      WAGGLE_RETURN_IF_ERROR(feeds_[table]->Prioritize(result.priorities[table]));
    }
  }
  // Before the step's weights are published: actors that wait for them then act by the others' at once.
  bool taken = false;
  if (ports_.peers != nullptr) {
    WAGGLE_ASSIGN_OR_RETURN(taken, ports_.peers->TakeIfOrdered(stop));
  }
  const absl::Time now = SteadyNow();
  if (saver_ != nullptr && is_first()) {
    WAGGLE_RETURN_IF_ERROR(SaveIfDue(now));
  }
  if (ports_.cuts != nullptr && ports_.turns == nullptr) {
    if (const uint64_t cut = ports_.cuts->Due(); cut != 0) {
      WAGGLE_RETURN_IF_ERROR(MakeCut(cut, stop));
    }
  }
  if (ports_.turns != nullptr) {
    return absl::OkStatus();  // The turn ends with the remaining items.
  }
  if (taken || step_ % options_.learner.publish_period_steps == 0) {
    WAGGLE_RETURN_IF_ERROR(Publish());
  }
  return now - last_report_ < options_.report_period ? absl::OkStatus() : Report();
}

absl::StatusOr<Progress> TrainLoop::BeginStep() {
  Progress progress = Now();
  std::string settings = ports_.settings != nullptr ? ports_.settings() : settings_;
  if (ports_.group != nullptr) {
    // Steps depend on both. Learners hear from the hub at different times, and would step apart.
    WAGGLE_RETURN_IF_ERROR(ports_.group->Agree(&progress, &settings));
  }
  if (settings != settings_) {
    WAGGLE_RETURN_IF_ERROR(WithNewest([&] {
      WAGGLE_ASSIGN_OR_RETURN(experiment_yaml_, trainee_->Set(settings));
      return absl::OkStatus();
    }));
    settings_ = settings;
    LogInfo("learns on from step ", step_, " with other settings");
  }
  if (ports_.evaluated_rewards != nullptr) {
    trainee_->SetEvaluatedRewards(ports_.evaluated_rewards());
  }
  return progress;
}

absl::Status TrainLoop::Publish() {
  if (published_step_ == step_ || !is_first()) {
    return absl::OkStatus();
  }
  if (ports_.turns != nullptr && ports_.known_version != nullptr &&
      ports_.known_version() == ModelVersion{epoch_, static_cast<uint64_t>(step_)}) {
    published_step_ = step_;  // By this learner, before it began anew from a cut.
    return absl::OkStatus();
  }
  const Stopwatch since;
  ModelSnapshot snapshot;
  WAGGLE_RETURN_IF_ERROR(WithNewest([&] {
    WAGGLE_ASSIGN_OR_RETURN(snapshot, trainee_->Publish());
    return absl::OkStatus();
  }));
  snapshot.version = {epoch_, static_cast<uint64_t>(step_)};
  snapshot.progress = Now();
  published_step_ = step_;
  const absl::Status published = publisher_->Publish(std::move(snapshot));
  phases_.publishing += since.Elapsed();
  ports_.metrics->Add("process/weights_published", 1);
  if (ports_.group != nullptr && absl::IsFailedPrecondition(published)) {
    return absl::AbortedError(published.message());  // A later group has published.
  }
  return Annotate(published, "publishing weights");
}

absl::Status TrainLoop::SaveIfDue(absl::Time now) {
  if (step_ == options_.first_step + 1) {
    checkpoints_.Begin(now);
  }
  if (const std::optional<absl::Status> result = saver_->TakeResult()) {
    checkpoints_.Ended(result->ok(), now);
  }
  // If the disk takes longer than the period, a checkpoint begins as soon as the last one ends.
  if (!checkpoints_.IsDue(now) || saver_->busy()) {
    return absl::OkStatus();
  }
  checkpoints_.Started(now);
  return SaveCheckpoint();
}

absl::Status TrainLoop::MakeCut(uint64_t cut, const StopToken& stop) {
  for (const auto& feed : feeds_) {
    WAGGLE_RETURN_IF_ERROR(feed->priorities().Send());
    // They need not be applied: those of an item without them count as lost on their way.
    feed->updater().Flush(options_.finish_timeout).IgnoreError();
  }
  ports_.cuts->Make(
      cut, [this] { return Capture(); }, stop);
  return absl::OkStatus();
}

absl::Status TrainLoop::MakeCutInTurn(uint64_t cut, const StopToken& stop) {
  absl::Status made = absl::FailedPreconditionError("this learner makes no cuts");
  if (ports_.cuts != nullptr && saver_ != nullptr) {
    // This learner begins anew from it, as another does that goes back to the cut.
    WAGGLE_RETURN_IF_ERROR(SaveCheckpoint());
    made = saver_->Flush();
    if (made.ok()) {
      made = ports_.cuts->MakeInLockStep(
          cut, [this] { return Capture(); }, stop);
    } else {
      ports_.cuts->ReportFailure(cut, made);
    }
  }
  ports_.turns->End();
  made_cut_ = made.ok() ? cut : 0;
  return made.ok() ? absl::AbortedError(absl::StrCat("the learner begins anew from cut ", cut)) : absl::OkStatus();
}

absl::Status TrainLoop::SaveCheckpoint() {
  const Stopwatch since;
  WAGGLE_ASSIGN_OR_RETURN(CheckpointContents contents, Capture());
  saver_->Save(std::move(contents));
  phases_.saving += since.Elapsed();
  return absl::OkStatus();
}

absl::StatusOr<CheckpointContents> TrainLoop::Capture() {
  CheckpointContents contents;
  WAGGLE_RETURN_IF_ERROR(WithNewest([&] {
    WAGGLE_ASSIGN_OR_RETURN(contents, SaveLearner(step_, options_.algorithm, trainee_));
    return absl::OkStatus();
  }));
  contents.texts[kCheckpointRun] = options_.run;
  contents.texts[kCheckpointEpoch] = absl::StrCat(options_.epoch);
  contents.texts[kCheckpointExperiment] = experiment_yaml_;
  if (ports_.peers != nullptr) {
    contents.texts[kCheckpointExploit] = absl::StrCat(ports_.peers->obeyed());
  }
  if (counted_.has_value()) {
    contents.texts[kCheckpointCounted] = absl::StrCat(counted_->items, " ", counted_->steps);
  }
  return contents;
}

absl::Status TrainLoop::SaveLastCheckpoint() {
  const Deadline deadline(options_.last_checkpoint_timeout);
  saver_->Flush().IgnoreError();  // An earlier checkpoint's result no longer matters.
  for (absl::Duration pause = kFirstSavePause; saver_->written_step() != step_;
       pause = std::min(2 * pause, kLongestSavePause)) {
    WAGGLE_RETURN_IF_ERROR(SaveCheckpoint());
    const absl::Status written = saver_->Flush();
    if (!written.ok() && deadline.Left() <= pause) {
      return Annotate(written, "the last checkpoint could not be written");
    }
    if (!written.ok()) {
      StopToken().WaitFor(pause);
    }
  }
  return absl::OkStatus();
}

absl::Status TrainLoop::Finish() {
  absl::Status first;
  const auto take = [&first](const absl::Status& status) {
    if (first.ok()) {
      first = status;
    } else if (!status.ok()) {
      LogError("while the learner ended: ", status.ToString());
    }
  };
  take(Publish());
  if (ports_.trained != nullptr && is_first()) {
    ports_.trained({epoch_, static_cast<uint64_t>(step_)});
  }
  for (const auto& feed : feeds_) {
    take(Annotate(feed->priorities().Send(), "sending priorities"));
  }
  // The disk first: it matters most, and is never away.
  const bool saves = saver_ != nullptr && is_first();
  const absl::Status saved = saves ? SaveLastCheckpoint() : absl::OkStatus();
  take(saved);
  take(Report());
  // At the end of a run the replay servers may be gone, and the priorities are useless.
  for (const auto& feed : feeds_) {
    if (const absl::Status flushed = feed->updater().Flush(options_.finish_timeout); !flushed.ok()) {
      LogWarning("the last priorities were not applied: ", flushed.ToString());
    }
  }
  if (is_first()) {
    take(publisher_->FlushLast(options_.finish_timeout, ports_.run_over, /*has_checkpoint=*/saves && saved.ok()));
  }
  return first;
}

absl::Status TrainLoop::WithNewest(absl::FunctionRef<absl::Status()> use) {
  return pushed() != nullptr ? pushed()->WithNewest(use) : use();
}

Progress TrainLoop::Now() const {
  Progress progress = turn_progress_;
  if (ports_.turns == nullptr && ports_.progress != nullptr) {
    progress = ports_.progress();
  }
  progress.learner_steps = step_;
  if (options_.max_learner_steps > 0) {
    progress.run = std::max(
        progress.run, std::min(1.0, static_cast<double>(step_) / static_cast<double>(options_.max_learner_steps)));
  }
  return progress;
}

absl::Status TrainLoop::Report() {
  Metrics& metrics = *ports_.metrics;
  // Means over a period's updates are not repeated while there are no updates.
  const absl::Duration lifetime =
      ports_.turns != nullptr ? absl::InfiniteDuration() : std::max(2 * options_.report_period, kShortestLifetime);
  if (is_first()) {  // A group's steps are counted once.
    metrics.Add("learner_steps", static_cast<double>(step_ - std::exchange(reported_step_, step_)));
  }
  TableFeed::Counts all;
  int64_t missing = 0;
  for (const auto& feed : feeds_) {
    const TableFeed::Counts counts = feed->TakeCounts();
    all.lags.Add(counts.lags);
    all.priorities.applied += counts.priorities.applied;
    all.priorities.stale += counts.priorities.stale;
    all.priorities.unknown += counts.priorities.unknown;
    missing = std::max(missing, feed->sampler().stats().missing_shards);
  }
  const PolicyLags& lags = all.lags;
  if (lags.items > 0) {
    const auto items = static_cast<double>(lags.items);
    metrics.Set("policy_lag_mean", static_cast<double>(lags.sum) / items, lifetime);
    metrics.Set("policy_lag_when_sampled_mean", static_cast<double>(lags.sampled_sum) / items, lifetime);
    metrics.Set("policy_lag_max", static_cast<double>(lags.max));
  }
  metrics.Add("items_sampled", static_cast<double>(lags.items));
  metrics.Add("items_too_old", static_cast<double>(lags.too_old));
  metrics.Add("items_from_later_weights", static_cast<double>(lags.from_later));
  metrics.Add("policy_lag_sum", static_cast<double>(lags.sum));
  for (size_t bucket = 0; bucket < kLagBuckets; ++bucket) {
    if (lags.buckets[bucket] > 0) {
      metrics.Add(LagBucketCounter(bucket), static_cast<double>(lags.buckets[bucket]));
    }
  }
  metrics.Set("replay_servers_missing", static_cast<double>(missing));
  metrics.Add("priorities_applied", static_cast<double>(all.priorities.applied));
  metrics.Add("priorities_stale", static_cast<double>(all.priorities.stale));
  metrics.Add("priorities_unknown", static_cast<double>(all.priorities.unknown));
  const Phases phases = std::exchange(phases_, Phases());
  metrics.Add("process/steps", static_cast<double>(phases.steps));
  metrics.Add("process/seconds_sampling", absl::ToDoubleSeconds(phases.sampling));
  metrics.Add("process/seconds_updating", absl::ToDoubleSeconds(phases.updating));
  metrics.Add("process/seconds_publishing", absl::ToDoubleSeconds(phases.publishing));
  metrics.Add("process/seconds_saving", absl::ToDoubleSeconds(phases.saving));
  last_report_ = SteadyNow();
  WAGGLE_ASSIGN_OR_RETURN(const auto means, algorithm_metrics_.Take());
  for (const auto& [name, mean] : means) {
    metrics.Set(absl::StrCat("algorithm/", name), mean, lifetime);
  }
  for (const auto& [name, rate] : trainee_->LearningRates(Now())) {
    metrics.Set(absl::StrCat("algorithm/", name, "_learning_rate"), rate);
  }
  return absl::OkStatus();
}

}  // namespace waggle
