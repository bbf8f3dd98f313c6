// ExperimentHost's thread: begins experiments, gives the pool's processes their orders, and closes what is over. The
// rest of the class is in experiment_host.cc.
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
#include "param_server/overview_convert.h"

namespace waggle {
namespace {

// Times that run out are looked at so often.
constexpr absl::Duration kTick = absl::Milliseconds(100);
// For those who have been told to leave a run.
constexpr absl::Duration kGoodbyeTime = absl::Seconds(3);
// Events that cannot be written are kept up to so many.
constexpr size_t kMaxEvents = 10'000;

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? FileError(error.value(), folder, "make the folder") : absl::OkStatus();
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
  while (std::optional<ExperimentRecord> next = NextToBegin()) {
    const std::string id = next->id;
    if (const absl::Status begun = Begin(*std::move(next), /*restored=*/false); !begun.ok()) {
      LogError("experiment ", id, " cannot begin: ", begun.message());
    }
  }
  TickPool();
  KeepReplayStorage();
  WriteEvents();
}

std::optional<ExperimentRecord> ExperimentHost::NextToBegin() {
  const absl::Time now = options_.clock();
  std::vector<ExperimentRecord> queued;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, record] : records_) {
      if (record.state == RunState::kQueued) {
        queued.push_back(record);
      }
    }
  }
  std::sort(queued.begin(), queued.end(), [](const ExperimentRecord& a, const ExperimentRecord& b) {
    return std::make_pair(-a.priority, a.sequence) < std::make_pair(-b.priority, b.sequence);
  });
  std::map<std::string, std::string> waits_for;
  std::optional<ExperimentRecord> next;
  const ExperimentRecord* blocking = nullptr;
  for (const ExperimentRecord& record : queued) {
    const absl::StatusOr<Experiment> experiment = Parse(record);
    if (!experiment.ok()) {  // Of an earlier version of the software, whose options were others.
      next = next.has_value() ? std::move(next) : record;
      continue;
    }
    RunNeeds needs = NeedsOf(*experiment);
    needs.experiment_id = record.id;
    needs.priority = record.priority;
    needs.sequence = record.sequence;
    MutexLock lock(&mutex_);
    const absl::Status possible = pool_.CanBegin(needs, now);
    if (blocking != nullptr && (possible.ok() || absl::IsUnavailable(possible))) {
      waits_for[record.id] = absl::StrCat("comes after ", blocking->id);
    } else if (possible.ok() && !next.has_value()) {
      next = record;
    } else if (possible.ok()) {
      waits_for[record.id] = "begins in a moment";
    } else {
      waits_for[record.id] = std::string(possible.message());
      blocking = absl::IsUnavailable(possible) ? &record : blocking;
    }
  }
  MutexLock lock(&mutex_);
  waits_for_ = std::move(waits_for);
  return next;
}

absl::Status ExperimentHost::Begin(ExperimentRecord record, bool restored) {
  MutexLock writing(&writing_);
  {
    MutexLock lock(&mutex_);
    const auto known = records_.find(record.id);
    if (known == records_.end() || known->second.state != record.state) {
      return absl::OkStatus();  // It was stopped or deleted meanwhile.
    }
  }
  const bool resume = !restored && record.attempts > 0;
  const absl::StatusOr<Experiment> experiment = Parse(record);
  absl::StatusOr<std::shared_ptr<OpenRun>> run = absl::UnknownError("");
  if (!experiment.ok()) {
    run = experiment.status();
  } else if (const absl::Status made = MakeFolder(record.output_folder); !made.ok()) {
    run = made;
  } else {
    OpenRunOptions options;
    options.experiment_id = record.id;
    options.folder = absl::StrCat(RunFolder(record.id), "/hub");
    options.output_folder = record.output_folder;
    options.plan = PlanRun(*experiment, record.effective_yaml);
    options.self = options_.self;
    options.note = [this, id = record.id](const std::string& text) { Note(id, text); };
    options.resume = resume;
    run = OpenRun::Open(std::move(options));
  }
  if (!run.ok()) {
    record.state = RunState::kFailed;
    record.reason = absl::StrCat("it cannot begin: ", run.status().message());
    record.ended = absl::Now();
    WAGGLE_RETURN_IF_ERROR(KeepLocked(record, record.reason));
    listeners_.CallAll();
    return run.status();
  }
  if (!restored) {
    record.state = RunState::kRunning;
    record.started = record.started.has_value() ? record.started : absl::Now();
    ++record.attempts;
  }
  WAGGLE_RETURN_IF_ERROR(KeepLocked(record, restored ? "goes on with a parameter server that has started again"
                                            : resume ? "goes on"
                                                     : "begins"));
  RunNeeds needs = NeedsOf(*experiment);
  needs.experiment_id = record.id;
  needs.priority = record.priority;
  needs.sequence = record.sequence;
  needs.output_folder = record.output_folder;
  Active active;
  active.run = *run;
  const auto wake = [wake = wake_] {
    MutexLock lock(&wake->mutex);
    wake->any = true;
    wake->changed.SignalAll();
  };
  active.subscription = (*run)->hub()->Watch(wake);
  LogInfo("experiment ", record.id, restored || resume ? " goes on" : " begins", ", its files go to ",
          record.output_folder);
  {
    MutexLock lock(&mutex_);
    active_[record.id] = std::move(active);
    pool_.Begin(needs, restored ? record.replay_storage : std::map<int64_t, std::string>(), restored);
  }
  WakeUp();
  listeners_.CallAll();
  return absl::OkStatus();
}

void ExperimentHost::TickPool() {
  const absl::Time now = options_.clock();
  std::vector<PoolEvent> events;
  std::vector<std::pair<std::shared_ptr<OpenRun>, PoolEvent>> of_runs;
  Answers answers;
  {
    MutexLock lock(&mutex_);
    events = pool_.Tick(now);
    for (const PoolEvent& event : events) {
      if (const auto active = active_.find(event.order.experiment_id); active != active_.end()) {
        of_runs.emplace_back(active->second.run, event);
      }
    }
    answers = TakeAnswersLocked(now);
  }
  for (const auto& [run, event] : of_runs) {
    const bool bad = event.kind != PoolEvent::Kind::kOrdered && event.kind != PoolEvent::Kind::kEnded;
    bad ? LogWarning(event.text) : LogInfo(event.text);
    Note(event.order.experiment_id, event.text);
    if (event.kind == PoolEvent::Kind::kLost) {
      run->hub()->Dismiss(RunWorkerId(event.worker_id, event.order.number), event.text);
    } else if (event.kind == PoolEvent::Kind::kHopeless) {
      run->hub()->End(RunState::kFailed, event.text);
    }
  }
  // After the dismissals: who takes a seat up finds it free.
  for (auto& [answer, value] : answers) {
    answer(std::move(value));
  }
}

ExperimentHost::Answers ExperimentHost::TakeAnswersLocked(absl::Time now) {
  Answers answers;
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    if (now < one->second.until && !pool_.HasNews(one->first)) {
      ++one;
      continue;
    }
    answers.emplace_back(std::move(one->second.answer), AnswerLocked(one->first));
    pool_.Answered(one->first, now);
    one = waiting_.erase(one);
  }
  return answers;
}

PoolAnswer ExperimentHost::AnswerLocked(const std::string& worker_id) {
  PoolAnswer answer;
  answer.orders = pool_.OrdersOf(worker_id);
  if (const Attendance* const attendance = pool_.Find(worker_id); attendance != nullptr) {
    for (const std::string& id : attendance->kept) {
      const auto record = records_.find(id);
      // Of one that this hub never had nothing is dropped: it may be another hub's.
      if (record == records_.end() ? deleted_.count(id) > 0 : IsOver(record->second.state) && active_.count(id) == 0) {
        answer.discarded.push_back(id);
      }
    }
  }
  return answer;
}

void ExperimentHost::CloseEnded() {
  const absl::Time now = options_.clock();
  std::vector<std::string> ended;
  bool news = false;
  {
    MutexLock lock(&mutex_);
    for (auto& [id, active] : active_) {
      if (!IsOver(active.run->hub()->run_state())) {
        continue;
      }
      if (!active.over_since.has_value()) {
        active.over_since = now;
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
          (!active.run->hub()->HasWorkers() || now - *active.dismissed_since > kGoodbyeTime)) {
        ended.push_back(id);
      }
    }
  }
  for (const std::string& id : ended) {
    CloseRun(id);
  }
  // A run's last calls may hold it for a moment. What it has to keep is written when it goes, so that nobody else may
  // be the last to let it go.
  closing_.erase(std::remove_if(closing_.begin(), closing_.end(),
                                [](const std::shared_ptr<OpenRun>& run) { return run.use_count() == 1; }),
                 closing_.end());
  if (news || !ended.empty()) {
    listeners_.CallAll();
  }
}

void ExperimentHost::CloseRun(const std::string& id) {
  MutexLock writing(&writing_);
  std::shared_ptr<OpenRun> run;
  ExperimentRecord record;
  {
    MutexLock lock(&mutex_);
    run = active_.at(id).run;
    record = records_.at(id);
  }
  const RunStanding standing = run->hub()->Standing();
  v1::OverviewResponse overview = ToProto(run->hub()->Overview());
  overview.clear_experiment_yaml();  // The record has it.
  record.state = standing.state;
  record.reason = standing.reason;
  record.ended = absl::Now();
  record.replay_storage.clear();
  record.last_overview = overview.SerializeAsString();
  if (const absl::Status kept = KeepLocked(record, ""); !kept.ok()) {
    LogError("the end of experiment ", id, " is not written down, and is tried again: ", kept.message());
    return;
  }
  LogInfo("experiment ", id, " is closed: ", RunStateName(record.state));
  run->Close();
  closing_.push_back(std::move(run));
  Active active;
  {
    MutexLock lock(&mutex_);
    active = std::move(active_.at(id));
    active_.erase(id);
    closed_.SignalAll();
  }
}

void ExperimentHost::KeepReplayStorage() {
  std::vector<ExperimentRecord> changed;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, active] : active_) {
      ExperimentRecord record = records_.at(id);
      record.replay_storage = pool_.ReplayStorage(id);
      if (record.replay_storage != records_.at(id).replay_storage) {
        changed.push_back(std::move(record));
      }
    }
  }
  for (const ExperimentRecord& record : changed) {
    MutexLock writing(&writing_);
    {
      MutexLock lock(&mutex_);
      if (active_.count(record.id) == 0) {
        continue;
      }
    }
    if (const absl::Status kept = KeepLocked(record, ""); !kept.ok()) {
      LogError("which replay servers hold experiment ", record.id, " is not written down yet: ", kept.message());
    }
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
  if (const absl::Status written = store_->AddEvents(events); !written.ok()) {
    LogError(events.size(), " events of experiments are not written down yet: ", written.message());
    MutexLock lock(&events_mutex_);
    events_.insert(events_.begin(), events.begin(), events.end());
    while (events_.size() > kMaxEvents) {
      events_.pop_front();
    }
  }
}

}  // namespace waggle
