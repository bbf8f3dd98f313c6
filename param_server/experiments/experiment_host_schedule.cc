// ExperimentHost's thread: begins experiments, and closes what is over. The rest of the class is in experiment_host.cc.
// No test of its own: tests/param_server/experiments/experiment_host_test.cc sees it.

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/atomic_file.h"
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
// Times that run out are looked at so often.
constexpr absl::Duration kTick = absl::Milliseconds(100);
// For those who have been told to leave a run, and for its last weights to be written.
constexpr absl::Duration kGoodbyeTime = absl::Seconds(3);
// Events that cannot be written are kept up to so many.
constexpr size_t kMaxEvents = 10'000;

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? FileError(error.value(), folder, "make the folder") : absl::OkStatus();
}

// Whether an error lies with what was kept of an experiment, so that it comes back however often it is tried.
bool IsOfItsData(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
}

}  // namespace

void ExperimentHost::WakeUp() {
  MutexLock lock(&wake_->mutex);
  wake_->any = true;
  wake_->changed.SignalAll();
}

void ExperimentHost::Run() {
  while (true) {
    RunOnce();
    MutexLock lock(&wake_->mutex);
    if (!wake_->any && !wake_->stopping) {
      wake_->changed.WaitFor(&wake_->mutex, kTick);
    }
    if (wake_->stopping) {
      return;
    }
    wake_->any = false;
  }
}

void ExperimentHost::RunOnce() {
  CloseEnded();
  // However often workers attend, the queue is gone through once a tick; after one that can begin, at once again, as
  // who has begun wakes the thread. What cannot be written down now is tried again later.
  if (const absl::Time now = options_.clock(); now >= look_at_) {
    const std::optional<std::string> next = NextToBegin();
    if (next.has_value() && CanWrite()) {
      Noted(Begin(*next), absl::StrCat("experiment ", *next, " cannot begin"));
    } else {
      look_at_ = now + kTick;
    }
  }
  TickPool();
  if (CanWrite()) {
    KeepReplayStorage();
    WriteEvents();
  }
}

bool ExperimentHost::CanWrite() const {
  return options_.clock() >= retry_at_;
}

bool ExperimentHost::Noted(const absl::Status& written, const std::string& what) {
  if (!written.ok()) {
    LogError(what, ": ", written.message());
    retry_at_ = options_.clock() + kWritePause;
  }
  return written.ok();
}

std::optional<std::string> ExperimentHost::NextToBegin() {
  const absl::Time now = options_.clock();
  MutexLock lock(&mutex_);
  std::optional<std::string> next;
  std::vector<const ExperimentRecord*> queued;
  for (const auto& [id, record] : records_) {
    if (record.state == RunState::kQueued) {
      queued.push_back(&record);
    } else if (const auto postponed = postponed_.find(id);
               postponed != postponed_.end() && postponed->second.until <= now) {
      next = id;  // It ran already.
    }
  }
  std::sort(queued.begin(), queued.end(), [](const ExperimentRecord* a, const ExperimentRecord* b) {
    return std::make_pair(-a->priority, a->sequence) < std::make_pair(-b->priority, b->sequence);
  });
  waits_for_.clear();
  const ExperimentRecord* blocking = nullptr;
  const WorkerPool::Slots slots = queued.empty() ? WorkerPool::Slots() : pool_.CountSlots();
  for (const ExperimentRecord* const record : queued) {
    if (closing_.count(record->id) > 0) {
      waits_for_[record->id] = "what it did before is being closed";
    } else if (record->attempts > 0 && pool_.IsKept(record->id)) {
      waits_for_[record->id] = "its old tables are being dropped";
    } else if (const auto postponed = postponed_.find(record->id);
               postponed != postponed_.end() && now < postponed->second.until) {
      waits_for_[record->id] = postponed->second.why;  // It may lie with it alone: others do not wait for it.
    } else if (blocking != nullptr) {                  // The pool is not asked for it: there may be many.
      waits_for_[record->id] = absl::StrCat("comes after ", blocking->id);
    } else if (next.has_value()) {
      waits_for_[record->id] = "begins in a moment, if there are workers for it then";
    } else {
      const auto needs = needs_.find(record->id);
      // One that cannot be understood any more begins, which fails, and says why.
      const absl::Status possible = needs == needs_.end() ? absl::OkStatus() : pool_.CanBegin(needs->second, slots);
      if (possible.ok()) {
        next = record->id;
      } else {
        waits_for_[record->id] = std::string(possible.message());
        blocking = absl::IsUnavailable(possible) ? record : nullptr;
      }
    }
  }
  return next;
}

absl::Status ExperimentHost::Begin(const std::string& id) {
  MutexLock writing(&writing_);
  ExperimentRecord record;
  {
    MutexLock lock(&mutex_);
    const auto known = records_.find(id);
    if (known == records_.end() || IsOver(known->second.state) || active_.count(id) > 0) {
      return absl::OkStatus();  // It was stopped or deleted meanwhile.
    }
    record = known->second;
  }
  const bool restored = record.state == RunState::kRunning;
  const bool resume = !restored && record.attempts > 0;
  const absl::StatusOr<Experiment> experiment = Parse(record);
  if (!experiment.ok()) {
    return GiveUpOrPostpone(record, experiment.status(), /*final=*/true);
  }
  // That its folder cannot be made never lies with the experiment.
  if (const absl::Status made = MakeFolder(record.output_folder); !made.ok()) {
    return GiveUpOrPostpone(record, made, /*final=*/false);
  }
  const absl::StatusOr<std::shared_ptr<OpenRun>> run = OpenRunOf(record, *experiment);
  if (!run.ok()) {
    return GiveUpOrPostpone(record, run.status(), IsOfItsData(run.status()));
  }
  if (!restored) {
    record.state = RunState::kRunning;
    record.started = record.started.has_value() ? record.started : absl::Now();
    ++record.attempts;
  }
  WAGGLE_RETURN_IF_ERROR(Keep(record, restored ? "goes on with a parameter server that has started again"
                                      : resume ? "goes on"
                                               : "begins"));
  Active active;
  active.run = *run;
  const auto wake = [wake = wake_] {
    MutexLock lock(&wake->mutex);
    wake->any = true;
    wake->changed.SignalAll();
  };
  active.subscription = (*run)->hub()->Watch(wake);
  LogInfo("experiment ", id, restored || resume ? " goes on" : " begins", ", its files go to ", record.output_folder);
  {
    MutexLock lock(&mutex_);
    active_[id] = std::move(active);
    postponed_.erase(id);
    pool_.Begin(Needs(record, *experiment), restored ? record.replay_storage : std::map<int64_t, std::string>(),
                restored);
  }
  WakeUp();
  listeners_.CallAll();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<OpenRun>> ExperimentHost::OpenRunOf(const ExperimentRecord& record,
                                                                   const Experiment& experiment) {
  OpenRunOptions options;
  options.experiment_id = record.id;
  options.folder = absl::StrCat(RunFolder(record.id), "/hub");
  options.output_folder = record.output_folder;
  options.plan = PlanRun(experiment, record.effective_yaml);
  options.self = options_.self;
  options.note = [this, id = record.id](const std::string& text) { Note(id, text); };
  options.draw_curves = options_.draw_curves;
  options.resume = record.state == RunState::kQueued && record.attempts > 0;
  return OpenRun::Open(std::move(options));
}

absl::Status ExperimentHost::GiveUpOrPostpone(ExperimentRecord record, const absl::Status& why, bool final) {
  if (final) {
    LogError("experiment ", record.id, " cannot begin: ", why.message());
    record.state = RunState::kFailed;
    record.reason = absl::StrCat("it cannot begin: ", why.message());
    record.ended = absl::Now();
    WAGGLE_RETURN_IF_ERROR(Keep(record, record.reason));
    WakeUp();
    listeners_.CallAll();
    return absl::OkStatus();
  }
  const std::string text = absl::StrCat(
      record.state == RunState::kRunning ? "it cannot go on yet: " : "it cannot begin yet: ", why.message());
  bool news = false;
  {
    MutexLock lock(&mutex_);
    Postponed& postponed = postponed_[record.id];
    news = std::exchange(postponed.why, text) != text;
    postponed.pause = std::clamp(2 * postponed.pause, kOpenPause, kLongestOpenPause);
    postponed.until = options_.clock() + postponed.pause;
  }
  if (news) {  // Not each time.
    LogError("experiment ", record.id, ": ", text);
    Note(record.id, text);
    listeners_.CallAll();
  }
  return absl::OkStatus();
}

RunNeeds ExperimentHost::Needs(const ExperimentRecord& record, const Experiment& experiment) const {
  RunNeeds needs = NeedsOf(experiment);
  needs.experiment_id = record.id;
  needs.priority = record.priority;
  needs.sequence = record.sequence;
  needs.output_folder = record.output_folder;
  return needs;
}

void ExperimentHost::CloseEnded() {
  const absl::Time now = options_.clock();
  std::vector<std::string> ended;
  bool news = false;
  {
    MutexLock lock(&mutex_);
    for (auto& [id, active] : active_) {
      const RunState state = active.run->hub()->run_state();
      news = news || std::exchange(active.state, state) != state;
      if (!IsOver(state)) {
        continue;
      }
      if (!active.over_since.has_value()) {
        active.over_since = now;
        active.run->hub()->Seal();
        pool_.Close(id);
        news = true;
      }
      // Replay servers do not end by themselves: they are told to when nobody else is there any more, and have a moment
      // to say goodbye.
      if (!active.dismissed_since.has_value() &&
          (pool_.Working(id) == 0 || now - *active.over_since > options_.close_patience)) {
        active.dismissed_since = now;
        pool_.End(id);
      }
      if (active.dismissed_since.has_value() &&
          (now - *active.dismissed_since > kGoodbyeTime ||
           (!active.run->hub()->HasWorkers() && !active.run->hub()->HasUnsavedWeights()))) {
        ended.push_back(id);
      }
    }
  }
  for (const std::string& id : ended) {
    if (!CanWrite() || !Noted(CloseRun(id), absl::StrCat("the end of experiment ", id, " is not written down yet"))) {
      break;
    }
    news = true;
  }
  // A run's last calls may hold it for a moment. What it has to keep is written when it goes, so that nobody else may
  // be the last to let it go.
  std::vector<std::shared_ptr<OpenRun>> closed;
  {
    MutexLock lock(&mutex_);
    for (auto one = closing_.begin(); one != closing_.end();) {
      if (one->second.use_count() > 1) {
        ++one;
        continue;
      }
      written_.insert(one->first);
      closed.push_back(std::move(one->second));
      one = closing_.erase(one);
    }
  }
  if (!closed.empty()) {
    closed.clear();
    MutexLock lock(&mutex_);
    written_.clear();
    closed_.SignalAll();
  }
  if (news) {
    listeners_.CallAll();
  }
}

absl::Status ExperimentHost::CloseRun(const std::string& id) {
  MutexLock writing(&writing_);
  std::shared_ptr<OpenRun> run;
  ExperimentRecord record;
  {
    MutexLock lock(&mutex_);
    run = active_.at(id).run;
    record = records_.at(id);
  }
  const RunStanding standing = run->hub()->Standing();
  record.state = standing.state;
  record.reason = standing.reason;
  record.ended = absl::Now();
  record.replay_storage.clear();
  record.last_overview = ToPastProto(run->hub()->Overview()).SerializeAsString();
  WAGGLE_RETURN_IF_ERROR(Keep(record, ""));
  LogInfo("experiment ", id, " is closed: ", RunStateName(record.state));
  run->Close(SummaryJson(record, overview));
  Active active;  // Its subscription ends outside the lock.
  {
    MutexLock lock(&mutex_);
    active = std::move(active_.at(id));
    active_.erase(id);
    past_[id] = standing;
    closing_[id] = std::move(run);
  }
  return absl::OkStatus();
}

void ExperimentHost::KeepReplayStorage() {
  MutexLock writing(&writing_);
  std::vector<ExperimentRecord> changed;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, active] : active_) {
      const std::map<int64_t, std::string> storage = pool_.ReplayStorage(id);
      if (storage != records_.at(id).replay_storage && !active.over_since.has_value()) {
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
