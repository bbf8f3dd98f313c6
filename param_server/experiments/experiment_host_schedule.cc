// ExperimentHost's thread: decides who begins and what is closed, and never waits for a disk. The rest of the class is
// in experiment_host.cc.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "param_server/experiments/experiment_host.h"

namespace waggle {
namespace {

// Times that run out are looked at so often.
constexpr absl::Duration kTick = absl::Milliseconds(100);
// However many workers attend, the pool is gone through no more often: each time costs as much as there are workers.
constexpr absl::Duration kLeastTick = absl::Milliseconds(20);
// For those who have been told to leave a run, and for its last weights to be written.
constexpr absl::Duration kGoodbyeTime = absl::Seconds(3);
// At a time: fewer than the executor has threads for runs, so that others can be closed meanwhile.
constexpr int64_t kMaxOpening = 3;
// What an experiment waits for is told in its events no more often.
constexpr absl::Duration kTellPause = absl::Seconds(2);

}  // namespace

void ExperimentHost::Wake::Up() {
  MutexLock lock(&mutex);
  if (!std::exchange(any, true)) {
    changed.SignalAll();
  }
}

void ExperimentHost::Run() {
  while (true) {
    RunOnce();
    const Deadline least(kLeastTick);
    const Deadline most(kTick);
    MutexLock lock(&wake_->mutex);
    while (!wake_->stopping && (wake_->any ? least : most).Left() > absl::ZeroDuration()) {
      wake_->changed.WaitFor(&wake_->mutex, (wake_->any ? least : most).Left());
    }
    if (wake_->stopping) {
      return;
    }
    wake_->any = false;
  }
}

void ExperimentHost::RunOnce() {
  CloseEnded();
  DropClosed();
  const absl::Time now = options_.clock();
  bool look = false;
  {
    MutexLock lock(&mutex_);
    look = now >= look_at_;
  }
  if (look) {
    BeginNext(now);
  }
  TickPool();
  WriteNews();
}

void ExperimentHost::BeginNext(absl::Time now) {
  std::vector<std::string> ready;
  {
    MutexLock lock(&mutex_);
    look_at_ = now + kTick;
    ready = TakeReadyLocked(now);
  }
  for (const std::string& id : ready) {
    const auto begin = [this, id] { Noted(Begin(id), absl::StrCat("experiment ", id, " cannot begin")); };
    if (!runs_->Submit(begin).ok()) {
      MutexLock lock(&mutex_);
      pending_.at(id).opening = false;
    }
  }
}

std::vector<std::string> ExperimentHost::TakeReadyLocked(absl::Time now) {
  std::vector<std::string> ready;
  std::vector<std::pair<const ExperimentRecord*, Pending*>> queued;
  std::vector<const RunNeeds*> promised;  // Runs that are being opened count as begun.
  int64_t opening = std::count_if(pending_.begin(), pending_.end(), [](const auto& one) { return one.second.opening; });
  for (auto& [id, pending] : pending_) {
    const ExperimentRecord& record = records_.at(id);
    const bool began = record.state != RunState::kQueued;
    // A run that began with an earlier hub comes before those in the queue, also while it cannot be opened.
    if ((pending.opening || began) && pending.needs.has_value() && active_.count(id) == 0) {
      promised.push_back(&*pending.needs);
    }
    if (pending.opening) {
      continue;
    }
    if (!began) {
      queued.emplace_back(&record, &pending);
    } else if (now >= pending.retry_at && opening < kMaxOpening && CanWriteLocked(now)) {
      ready.push_back(id);
      pending.opening = true;
      ++opening;
    }
  }
  std::sort(queued.begin(), queued.end(), [](const auto& a, const auto& b) {
    return std::make_pair(-a.first->priority, a.first->sequence) <
           std::make_pair(-b.first->priority, b.first->sequence);
  });
  if (queued.empty()) {
    return ready;
  }
  PoolSlots slots = pool_.CountSlots();
  for (const RunNeeds* const needs : promised) {
    slots.Promise(*needs);
  }
  const ExperimentRecord* blocking = nullptr;
  for (const auto& [record, pending] : queued) {
    if (std::string held = HeldUpLocked(*record, *pending, now); !held.empty()) {
      pending->waits_for = std::move(held);
      continue;
    }
    if (blocking != nullptr) {  // The pool is not asked for it: there may be many.
      pending->waits_for = absl::StrCat("comes after ", blocking->id);
      continue;
    }
    // One that cannot be understood any more begins, which fails, and says why.
    const absl::Status possible = pending->needs.has_value() ? slots.CanBegin(*pending->needs) : absl::OkStatus();
    if (!possible.ok()) {
      pending->waits_for = std::string(possible.message());
      blocking = absl::IsUnavailable(possible) ? record : nullptr;
      TellWaitLocked(record->id, pending, now);
      continue;
    }
    if (pending->needs.has_value()) {
      slots.Promise(*pending->needs);
    }
    if (opening < kMaxOpening && CanWriteLocked(now)) {
      pending->waits_for = pending->failure.empty() ? "its files are being opened" : pending->failure;
      pending->opening = true;
      ready.push_back(record->id);
      ++opening;
    } else {
      pending->waits_for = "begins in a moment";
    }
  }
  return ready;
}

std::string ExperimentHost::HeldUpLocked(const ExperimentRecord& record, const Pending& pending, absl::Time now) const {
  if (closing_.count(record.id) > 0) {
    return "what it did before is being closed";
  }
  if (record.attempts > 0 && pool_.IsKept(record.id)) {
    return "its old tables are being dropped";
  }
  return now < pending.retry_at ? pending.failure : "";
}

void ExperimentHost::TellWaitLocked(const std::string& id, Pending* pending, absl::Time now) {
  if (pending->told != pending->waits_for && now - pending->told_at >= kTellPause) {
    pending->told = pending->waits_for;
    pending->told_at = now;
    Note(id, pending->told);
  }
}

ExperimentHost::Tasks ExperimentHost::TakeEndedLocked(absl::Time now, bool* news) {
  Tasks tasks;
  for (auto& [id, active] : active_) {
    if (pending_.count(id) > 0) {
      continue;  // The executor has not done all that belongs to its beginning.
    }
    const RunState state = active.run->hub()->run_state();
    *news = std::exchange(active.state, state) != state || *news;
    if (!IsOver(state)) {
      if (!active.hopeless.empty() && !active.busy) {
        tasks.emplace_back(id, [run = active.run, why = active.hopeless] {
          run->hub()->End(RunState::kFailed, why).IgnoreError();  // It is written later otherwise.
        });
        active.busy = true;
      }
      continue;
    }
    if (!active.over_since.has_value()) {
      active.over_since = now;
      active.run->hub()->Seal();
      pool_.Close(id);
      *news = true;
    }
    // Replay servers do not end by themselves: they are told to when nobody else is there any more, and have a moment
    // to say goodbye.
    if (!active.dismissed_since.has_value() &&
        (pool_.FindRun(id)->Working() == 0 || now - *active.over_since > options_.close_patience)) {
      active.dismissed_since = now;
      pool_.End(id);
    }
    if (active.dismissed_since.has_value() && !active.busy && CanWriteLocked(now) &&
        (now - *active.dismissed_since > kGoodbyeTime ||
         (!active.run->hub()->HasWorkers() && !active.run->hub()->HasUnsavedWeights()))) {
      tasks.emplace_back(id, [this, id = id] {
        Noted(CloseRun(id), absl::StrCat("the end of experiment ", id, " is not written down yet"));
      });
      active.busy = true;
    }
  }
  return tasks;
}

void ExperimentHost::CloseEnded() {
  bool news = false;
  Tasks tasks;
  {
    MutexLock lock(&mutex_);
    tasks = TakeEndedLocked(options_.clock(), &news);
  }
  for (auto& [id, task] : tasks) {
    const auto done = [this, id = id] {
      {
        MutexLock lock(&mutex_);
        if (const auto active = active_.find(id); active != active_.end()) {
          active->second.busy = false;
        }
      }
      wake_->Up();
      listeners_.CallAll();
    };
    const absl::Status queued = runs_->Submit([task = std::move(task), done] {
      task();
      done();
    });
    if (!queued.ok()) {
      done();
    }
  }
  if (news) {
    listeners_.CallAll();
  }
}

void ExperimentHost::DropClosed() {
  // A run's last calls may hold it for a moment. What it has to keep is written when it goes, so that nobody else may
  // be the last to let it go.
  std::vector<std::string> dropped;
  {
    MutexLock lock(&mutex_);
    for (auto& [id, closing] : closing_) {
      if (!closing.busy && closing.run.use_count() == 1) {
        closing.busy = true;
        dropped.push_back(id);
      }
    }
  }
  for (const std::string& id : dropped) {
    const auto drop = [this, id] {
      std::shared_ptr<OpenRun> run;
      {
        MutexLock lock(&mutex_);
        run = std::move(closing_.at(id).run);
      }
      run.reset();
      {
        MutexLock lock(&mutex_);
        closing_.erase(id);
        closed_.SignalAll();
      }
      wake_->Up();
    };
    if (!runs_->Submit(drop).ok()) {
      MutexLock lock(&mutex_);
      closing_.at(id).busy = false;
    }
  }
}

void ExperimentHost::WriteNews() {
  bool any = false;
  {
    MutexLock lock(&events_mutex_);
    any = !events_.empty();
  }
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, active] : active_) {
      any = any ||
            (!active.over_since.has_value() && pool_.FindRun(id)->ReplayStorage() != records_.at(id).replay_storage);
    }
    if (!any || writing_news_ || !CanWriteLocked(options_.clock())) {
      return;
    }
    writing_news_ = true;
  }
  const auto write = [this] {
    KeepReplayStorage();
    WriteEvents();
    MutexLock lock(&mutex_);
    writing_news_ = false;
  };
  if (!executor_->Submit(write).ok()) {
    MutexLock lock(&mutex_);
    writing_news_ = false;
  }
}

}  // namespace waggle
