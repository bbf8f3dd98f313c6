// What ExperimentHost's executor does: opens and closes runs, and writes down what is known of experiments. The rest of
// the class is in experiment_host.cc.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/hub_client/hub_convert.h"
#include "param_server/experiments/experiment_host.h"
#include "param_server/experiments/output_files.h"
#include "param_server/overview_convert.h"

namespace waggle {
namespace {

// After something could not be written, until it is tried again.
constexpr absl::Duration kWritePause = absl::Seconds(1);
// After a run could not be opened, until it is tried again; doubles with each time, up to the second.
constexpr absl::Duration kOpenPause = absl::Seconds(1);
constexpr absl::Duration kLongestOpenPause = absl::Seconds(10);
// Events that cannot be written are kept up to so many.
constexpr size_t kMaxEvents = 10'000;

// True if an error lies with what was kept of an experiment: it comes back however often the run is opened.
bool IsOfItsData(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
}

}  // namespace

absl::Status ExperimentHost::LoadAll() {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> deleted, store_->Deleted());
  {
    MutexLock lock(&mutex_);
    deleted_.insert(deleted.begin(), deleted.end());
  }
  WAGGLE_RETURN_IF_ERROR(store_->Load([this](ExperimentRecord record, const std::string& last_overview) {
    v1::OverviewResponse last;
    MutexLock lock(&mutex_);
    if (!last_overview.empty() && last.ParseFromString(last_overview)) {
      RunStanding& past = past_[record.id];
      past.env_steps = last.env_steps();
      past.learner_steps = last.learner_steps();
      past.running = absl::Milliseconds(last.running_ms());
      past.result = last.has_result() ? std::make_optional(FromProto(last.result())) : std::nullopt;
    }
    if (!IsOver(record.state)) {
      pending_[record.id];
    }
    AddRecordLocked(std::move(record));
  }));
  std::vector<ExperimentRecord> begin;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, pending] : pending_) {
      begin.push_back(records_.at(id));
    }
  }
  for (const ExperimentRecord& record : begin) {
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentTexts texts, store_->Texts(record.id));
    if (const auto experiment = Parse(record.id, texts.effective_yaml); experiment.ok()) {
      MutexLock lock(&mutex_);
      pending_.at(record.id).needs = Needs(record, *experiment);
    }
  }
  return absl::OkStatus();
}

bool ExperimentHost::Noted(const absl::Status& written, const std::string& what) {
  if (!written.ok()) {
    LogError(what, ": ", written.message());
    MutexLock lock(&mutex_);
    retry_at_ = options_.clock() + kWritePause;
  }
  return written.ok();
}

absl::Status ExperimentHost::Begin(const std::string& id) {
  const absl::Status status = OpenAndBegin(id);
  {
    MutexLock lock(&mutex_);
    const auto pending = pending_.find(id);
    pending->second.opening = false;
    if (IsOver(records_.at(id).state) || active_.count(id) > 0) {
      pending_.erase(pending);
    }
    look_at_ = absl::InfinitePast();
    closed_.SignalAll();
  }
  wake_->Up();
  listeners_.CallAll();
  return status;
}

absl::Status ExperimentHost::OpenAndBegin(const std::string& id) {
  ExperimentRecord record;
  {
    MutexLock lock(&mutex_);
    record = records_.at(id);
    if (stopping_ || IsOver(record.state)) {
      return absl::OkStatus();
    }
  }
  absl::StatusOr<ExperimentTexts> texts = store_->Texts(id);
  if (!texts.ok()) {
    return GiveUpOrPostpone(id, texts.status(), /*final=*/false);
  }
  const absl::StatusOr<Experiment> experiment = Parse(id, texts->effective_yaml);
  if (!experiment.ok()) {
    return GiveUpOrPostpone(id, experiment.status(), /*final=*/true);
  }
  // That its folder cannot be made never lies with the experiment.
  if (const absl::Status made = CreateFolders(record.output_folder); !made.ok()) {
    return GiveUpOrPostpone(id, made, /*final=*/false);
  }
  absl::StatusOr<std::shared_ptr<OpenRun>> run = OpenRunOf(record, texts->effective_yaml, *experiment);
  if (!run.ok()) {
    return GiveUpOrPostpone(id, run.status(), IsOfItsData(run.status()));
  }
  // That it cannot be written down that it begins, neither.
  const absl::Status begun = BeginOpen(id, *std::move(run), *std::move(texts), Needs(record, *experiment));
  if (!begun.ok()) {
    return GiveUpOrPostpone(id, begun, /*final=*/false);
  }
  {
    MutexLock lock(&mutex_);
    if (active_.count(id) == 0) {  // It was stopped meanwhile.
      return absl::OkStatus();
    }
  }
  // It is not closed before this is done: see TakeEndedLocked.
  if (const absl::Status removed = RemoveSummary(record.output_folder); !removed.ok()) {
    LogWarning("experiment ", id, " goes on beside the summary of before: ", removed.message());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<OpenRun>> ExperimentHost::OpenRunOf(const ExperimentRecord& record,
                                                                   const std::string& effective_yaml,
                                                                   const Experiment& experiment) {
  OpenRunOptions options;
  options.experiment_id = record.id;
  options.folder = absl::StrCat(RunFolder(record.id), "/hub");
  options.output_folder = record.output_folder;
  options.plan = PlanRun(experiment, effective_yaml);
  options.self = options_.self;
  options.note = [this, id = record.id](const std::string& text) { Note(id, text); };
  options.draw_curves = options_.draw_curves;
  options.resume = record.state == RunState::kQueued && record.attempts > 0;
  return OpenRun::Open(std::move(options));
}

std::optional<ExperimentRecord> ExperimentHost::RecordUnlessOver(const std::string& id) {
  MutexLock lock(&mutex_);
  const ExperimentRecord& record = records_.at(id);
  return IsOver(record.state) ? std::nullopt : std::optional<ExperimentRecord>(record);
}

absl::Status ExperimentHost::BeginOpen(const std::string& id, std::shared_ptr<OpenRun> run, ExperimentTexts texts,
                                       const RunNeeds& needs) {
  Active active;  // As the run itself, it goes outside the locks if nothing comes of it.
  active.run = std::move(run);
  texts.last_overview.clear();  // It is of an earlier attempt.
  active.texts = std::make_shared<const ExperimentTexts>(std::move(texts));
  active.subscription = active.run->hub()->Watch([wake = wake_] { wake->Up(); });
  MutexLock writing(&writing_);
  std::optional<ExperimentRecord> known = RecordUnlessOver(id);
  if (!known.has_value()) {  // It was stopped meanwhile.
    return absl::OkStatus();
  }
  ExperimentRecord& record = *known;
  const bool restored = record.state == RunState::kRunning;
  const bool resumed = !restored && record.attempts > 0;
  if (!restored) {
    record.state = RunState::kRunning;
    record.started = record.started.has_value() ? record.started : absl::Now();
    ++record.attempts;
  }
  WAGGLE_RETURN_IF_ERROR(Keep(record, restored  ? "goes on with a parameter server that has started again"
                                      : resumed ? "goes on"
                                                : "begins"));
  LogInfo("experiment ", id, restored || resumed ? " goes on" : " begins", ", its files go to ", record.output_folder);
  MutexLock lock(&mutex_);
  active_[id] = std::move(active);
  pool_.Begin(needs, restored ? record.replay_storage : std::map<int64_t, std::string>(), restored);
  return absl::OkStatus();
}

absl::Status ExperimentHost::GiveUpOrPostpone(const std::string& id, const absl::Status& why, bool final) {
  MutexLock writing(&writing_);
  std::optional<ExperimentRecord> known = RecordUnlessOver(id);
  if (!known.has_value()) {  // It was stopped meanwhile.
    return absl::OkStatus();
  }
  ExperimentRecord& record = *known;
  if (final) {
    LogError("experiment ", id, " cannot begin: ", why.message());
    record.state = RunState::kFailed;
    record.reason = absl::StrCat("it cannot begin: ", why.message());
    record.ended = absl::Now();
    return Keep(record, record.reason);
  }
  const std::string text = absl::StrCat(
      record.state == RunState::kRunning ? "it cannot go on yet: " : "it cannot begin yet: ", why.message());
  bool news = false;
  {
    MutexLock lock(&mutex_);
    Pending& pending = pending_.at(id);
    news = std::exchange(pending.failure, text) != text;
    pending.waits_for = text;
    pending.pause = std::clamp(2 * pending.pause, kOpenPause, kLongestOpenPause);
    pending.retry_at = options_.clock() + pending.pause;
  }
  if (news) {  // Not each time.
    LogError("experiment ", id, ": ", text);
    Note(id, text);
  }
  return absl::OkStatus();
}

absl::Status ExperimentHost::CloseRun(const std::string& id) {
  const absl::Status status = WriteEnd(id);
  if (!status.ok()) {
    const std::string why(status.message());
    bool news = false;
    {
      MutexLock lock(&mutex_);
      news = std::exchange(active_.at(id).unclosed, why) != why;
    }
    if (news) {  // Not each time.
      Note(id, absl::StrCat("it is not closed yet: ", why));
    }
    return status;
  }
  std::shared_ptr<OpenRun> run;
  Active active;  // Its subscription ends outside the lock.
  {
    MutexLock lock(&mutex_);
    run = active_.at(id).run;
    active = std::move(active_.at(id));
    active_.erase(id);
    past_[id] = run->hub()->Standing();
    closing_[id].run = run;
  }
  run->Close(/*over=*/true);
  return absl::OkStatus();
}

absl::Status ExperimentHost::WriteEnd(const std::string& id) {
  std::shared_ptr<OpenRun> run;
  ExperimentRecord record;
  {
    MutexLock lock(&mutex_);
    run = active_.at(id).run;
    record = records_.at(id);
  }
  WAGGLE_RETURN_IF_ERROR(run->hub()->Save());
  const v1::OverviewResponse overview = ToPastProto(run->hub()->Overview());
  const RunStanding standing = run->hub()->Standing();
  record.state = standing.state;
  record.reason = standing.reason;
  // First, so that what is told as closed has its files.
  WAGGLE_RETURN_IF_ERROR(CreateFolders(record.output_folder));
  WAGGLE_RETURN_IF_ERROR(WriteSummary(record.output_folder, SummaryJson(record, overview)));
  const std::string last_overview = overview.SerializeAsString();
  MutexLock writing(&writing_);
  {
    MutexLock lock(&mutex_);
    record = records_.at(id);
  }
  record.state = standing.state;
  record.reason = standing.reason;
  record.ended = absl::Now();
  record.replay_storage.clear();
  WAGGLE_RETURN_IF_ERROR(Keep(record, "", &last_overview));
  LogInfo("experiment ", id, " is closed: ", RunStateName(standing.state));
  return absl::OkStatus();
}

void ExperimentHost::KeepReplayStorage() {
  MutexLock writing(&writing_);
  std::vector<ExperimentRecord> changed;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, active] : active_) {
      if (active.over_since.has_value()) {
        continue;
      }
      const std::map<int64_t, std::string> storage = pool_.FindRun(id)->ReplayStorage();
      if (storage != records_.at(id).replay_storage) {
        changed.push_back(records_.at(id));
        changed.back().replay_storage = storage;
      }
    }
  }
  for (const ExperimentRecord& record : changed) {
    Noted(Keep(record, ""),
          absl::StrCat("which replay servers hold experiment ", record.id, " is not written down yet"));
  }
}

void ExperimentHost::Note(const std::string& id, const std::string& text) {
  MutexLock lock(&events_mutex_);
  events_.emplace_back(id, ExperimentEvent{0, absl::Now(), text});
  if (events_.size() > kMaxEvents) {
    events_.pop_front();
  }
}

void ExperimentHost::WriteEvents() {
  std::vector<std::pair<std::string, ExperimentEvent>> events;
  {
    MutexLock lock(&events_mutex_);
    events.assign(events_.begin(), events_.end());
    events_.clear();
  }
  if (events.empty()) {
    return;
  }
  if (!Noted(store_->AddEvents(events),
             absl::StrCat(events.size(), " events of experiments are not written down yet"))) {
    MutexLock lock(&events_mutex_);
    events_.insert(events_.begin(), events.begin(), events.end());
    while (events_.size() > kMaxEvents) {
      events_.pop_front();
    }
  }
}

}  // namespace waggle
