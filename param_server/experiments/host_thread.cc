#include "param_server/experiments/host_thread.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "param_server/experiments/pool_calls.h"
#include "param_server/experiments/population_tasks.h"
#include "param_server/experiments/run_tasks.h"
#include "param_server/pool/fair_queue.h"
#include "param_server/pool/quotas.h"

namespace waggle {
namespace {

// Longest pause between two checks of deadlines.
constexpr absl::Duration kTick = absl::Milliseconds(100);
// Shortest pause between two checks, however many workers attend: a check takes time in proportion to the workers.
constexpr absl::Duration kLeastTick = absl::Milliseconds(20);
// Time for dismissed workers to leave a run, and for its last weights to be saved.
constexpr absl::Duration kGoodbyeTime = absl::Seconds(3);
// Fewer than the executor's threads for runs, so that others can be closed meanwhile.
constexpr int64_t kMaxOpening = 3;
// Least time between two events of an experiment about the workers that it waits for.
constexpr absl::Duration kTellPause = absl::Seconds(2);

// Why a queued experiment cannot be considered yet, in words; empty if it can.
std::string HeldUp(HostState* host, const ExperimentRecord& record, const PendingRun& pending, absl::Time now)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex) {
  if (host->closing_runs.count(record.id) > 0) {
    return "its earlier run is being closed";
  }
  if (record.attempts > 0 && host->pool.IsKept(record.id)) {
    return "its old tables are being dropped";
  }
  return now < pending.retry_at ? pending.failure : "";
}

// The share that an experiment adds to its owner's: see FairQueue.
double ShareOf(const Quotas& quotas, const RunNeeds& needs) {
  return static_cast<double>(needs.Least()) / quotas.WeightOf(needs.owner);
}

// The shares of the experiments that run, and of those that are promised their workers, by owner.
std::map<std::string, double> SharesOf(const WorkerPool& pool, const std::vector<const RunNeeds*>& promised) {
  std::map<std::string, double> shares;
  for (const auto& [id, run] : pool.runs()) {
    if (!run.closed) {
      shares[run.needs.owner] += ShareOf(pool.quotas(), run.needs);
    }
  }
  for (const RunNeeds* const needs : promised) {
    shares[needs->owner] += ShareOf(pool.quotas(), *needs);
  }
  return shares;
}

void NoteWait(HostState* host, const std::string& id, PendingRun* pending, absl::Time now) {
  if (pending->told != pending->waits_for && now - pending->told_at >= kTellPause) {
    pending->told = pending->waits_for;
    pending->told_at = now;
    host->Note(id, pending->told);
  }
}

// Decides which queued experiments begin, in the order of a FairQueue.
class QueueLook {
 public:
  // `promised`: runs that are being opened have their workers reserved.
  QueueLook(HostState* host, const std::vector<const RunNeeds*>& promised, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex)
      : now_(now),
        slots_(host->pool.CountSlots()),
        use_(host->pool.CountUse()),
        queue_(SharesOf(host->pool, promised)) {
    for (const RunNeeds* const needs : promised) {
      slots_.Promise(*needs);
      use_.Add(*needs);
    }
  }
  FairQueue& queue() { return queue_; }

  // True if the experiment begins, and has its workers reserved. Else sets its waits_for.
  bool Begins(HostState* host, const ExperimentRecord& record, PendingRun* pending)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex) {
    if (std::string held = HeldUp(host, record, *pending, now_); !held.empty()) {
      pending->waits_for = std::move(held);
      return false;
    }
    if (!blocking_.empty()) {  // There may be many: the pool is not asked for each.
      pending->waits_for = absl::StrCat("comes after ", blocking_);
      return false;
    }
    if (!pending->needs.has_value()) {
      return true;  // It cannot be parsed any more: it begins, and fails with the reason.
    }
    if (std::string over = use_.Hindrance(*pending->needs); !over.empty()) {
      pending->waits_for = std::move(over);
      return false;
    }
    if (const absl::Status possible = slots_.CanBegin(*pending->needs); !possible.ok()) {
      pending->waits_for = std::string(possible.message());
      blocking_ = absl::IsUnavailable(possible) ? record.id : "";
      NoteWait(host, record.id, pending, now_);
      return false;
    }
    slots_.Promise(*pending->needs);
    use_.Add(*pending->needs);
    queue_.AddShare(record.labels.owner, ShareOf(host->pool.quotas(), *pending->needs));
    return true;
  }

 private:
  const absl::Time now_;
  PoolSlots slots_;
  QuotaBook use_;
  FairQueue queue_;
  std::string blocking_;  // The experiment that waits for busy workers.
};

// The experiments that can begin now, which are then opening.
std::vector<std::string> TakeReady(HostState* host, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex) {
  std::vector<std::string> ready;
  std::map<int64_t, PendingRun*> queued;  // By sequence.
  std::vector<const RunNeeds*> promised;
  int64_t opening = std::count_if(host->pending_runs.begin(), host->pending_runs.end(),
                                  [](const auto& one) { return one.second.opening; });
  for (auto& [id, pending] : host->pending_runs) {
    const ExperimentRecord& record = host->records.at(id);
    const bool began = record.state != RunState::kQueued;
    // A run of an earlier hub comes before queued experiments, also while it cannot be opened.
    if ((pending.opening || began) && pending.needs.has_value() && host->active_runs.count(id) == 0) {
      promised.push_back(&*pending.needs);
    }
    if (pending.opening) {
      continue;
    }
    if (!began) {
      queued[record.sequence] = &pending;
    } else if (now >= pending.retry_at && opening < kMaxOpening && host->CanWrite(now)) {
      ready.push_back(id);
      pending.opening = true;
      ++opening;
    }
  }
  if (queued.empty()) {
    return ready;
  }
  QueueLook look(host, promised, now);
  for (const auto& [sequence, pending] : queued) {
    const ExperimentRecord& record = *host->by_sequence.at(sequence);
    look.queue().Add(record.priority, record.labels.owner, sequence);
  }
  while (const std::optional<int64_t> next = look.queue().Next()) {
    const ExperimentRecord& record = *host->by_sequence.at(*next);
    PendingRun* const pending = queued.at(*next);
    if (!look.Begins(host, record, pending)) {
      continue;
    }
    if (opening < kMaxOpening && host->CanWrite(now)) {
      pending->waits_for = pending->failure.empty() ? "its files are being opened" : pending->failure;
      pending->opening = true;
      ready.push_back(record.id);
      ++opening;
    } else {
      pending->waits_for = "begins in a moment";
    }
  }
  return ready;
}

// The executor's tasks for experiments that must end, or are over. Sets `*news` if a state has changed.
using Tasks = std::vector<std::pair<std::string, std::function<void()>>>;
Tasks TakeEnded(HostState* host, absl::Time now, bool* news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex) {
  Tasks tasks;
  for (auto& [id, active] : host->active_runs) {
    if (host->pending_runs.count(id) > 0) {
      continue;  // The executor still opens it.
    }
    const RunState state = active.run->hub()->run_state();
    *news = std::exchange(active.state, state) != state || *news;
    if (!IsOver(state)) {
      if (!active.hopeless.empty() && !active.busy) {
        tasks.emplace_back(id, [run = active.run, why = active.hopeless] {
          run->hub()->End(RunState::kFailed, why).IgnoreError();  // A failed save is tried again.
        });
        active.busy = true;
      }
      continue;
    }
    if (!active.over_since.has_value()) {
      active.over_since = now;
      active.run->hub()->Seal();
      host->pool.Close(id);
      *news = true;
    }
    // Replay servers do not end by themselves: they are dismissed when the other workers have ended.
    if (!active.dismissed_since.has_value() &&
        (host->pool.FindRun(id)->Working() == 0 || now - *active.over_since > host->options.close_patience)) {
      active.dismissed_since = now;
      host->pool.End(id);
    }
    if (active.dismissed_since.has_value() && !active.busy && host->CanWrite(now) &&
        (now - *active.dismissed_since > kGoodbyeTime ||
         (!active.run->hub()->HasWorkers() && !active.run->hub()->HasUnsavedWeights()))) {
      tasks.emplace_back(id, [host, id = id] {
        host->Noted(CloseRun(host, id), absl::StrCat("the end of experiment ", id, " is not saved yet"));
      });
      active.busy = true;
    }
  }
  return tasks;
}

void CloseEnded(HostState* host) {
  bool news = false;
  Tasks tasks;
  {
    MutexLock lock(&host->mutex);
    tasks = TakeEnded(host, host->options.clock(), &news);
  }
  for (auto& [id, task] : tasks) {
    const auto done = [host, id = id] {
      {
        MutexLock lock(&host->mutex);
        if (const auto active = host->active_runs.find(id); active != host->active_runs.end()) {
          active->second.busy = false;
        }
      }
      host->wake->Up();
      host->listeners.CallAll();
    };
    const absl::Status queued = host->runs->Submit([task = std::move(task), done] {
      task();
      done();
    });
    if (!queued.ok()) {
      done();
    }
  }
  if (news) {
    host->listeners.CallAll();
  }
}

void DropClosed(HostState* host) {
  // A run's last calls may hold it for a moment. Its destruction waits for the disk, so the executor must do it.
  std::vector<std::string> dropped;
  {
    MutexLock lock(&host->mutex);
    for (auto& [id, closing] : host->closing_runs) {
      if (!closing.busy && closing.run.use_count() == 1) {
        closing.busy = true;
        dropped.push_back(id);
      }
    }
  }
  for (const std::string& id : dropped) {
    const auto drop = [host, id] {
      std::shared_ptr<OpenRun> run;
      {
        MutexLock lock(&host->mutex);
        run = std::move(host->closing_runs.at(id).run);
      }
      run.reset();
      {
        MutexLock lock(&host->mutex);
        host->closing_runs.erase(id);
        host->closed.SignalAll();
      }
      host->wake->Up();
    };
    if (!host->runs->Submit(drop).ok()) {
      MutexLock lock(&host->mutex);
      host->closing_runs.at(id).busy = false;
    }
  }
}

void SaveNewsSoon(HostState* host) {
  bool any = host->HasEvents();
  {
    MutexLock lock(&host->mutex);
    for (const auto& [id, active] : host->active_runs) {
      any = any || (!active.over_since.has_value() &&
                    host->pool.FindRun(id)->ReplayStorage() != host->records.at(id).replay_storage);
    }
    if (!any || host->writing_news || !host->CanWrite(host->options.clock())) {
      return;
    }
    host->writing_news = true;
  }
  const auto write = [host] {
    SaveNews(host);
    MutexLock lock(&host->mutex);
    host->writing_news = false;
  };
  if (!host->executor->Submit(write).ok()) {
    MutexLock lock(&host->mutex);
    host->writing_news = false;
  }
}

void RunOnce(HostState* host) {
  CloseEnded(host);
  DropClosed(host);
  const absl::Time now = host->options.clock();
  bool look = false;
  {
    MutexLock lock(&host->mutex);
    look = now >= host->look_at;
  }
  if (look) {
    BeginNext(host, now);
  }
  TickPool(host);
  FollowPopulations(host, now);
  SaveNewsSoon(host);
}

}  // namespace

void BeginNext(HostState* host, absl::Time now) {
  std::vector<std::string> ready;
  {
    MutexLock lock(&host->mutex);
    host->look_at = now + kTick;
    ready = TakeReady(host, now);
  }
  for (const std::string& id : ready) {
    const auto begin = [host, id] {
      host->Noted(BeginRun(host, id), absl::StrCat("experiment ", id, " cannot begin"));
    };
    if (!host->runs->Submit(begin).ok()) {
      MutexLock lock(&host->mutex);
      host->pending_runs.at(id).opening = false;
    }
  }
}

void RunHostThread(HostState* host) {
  while (true) {
    RunOnce(host);
    const Deadline least(kLeastTick);
    const Deadline most(kTick);
    HostState::Wake& wake = *host->wake;
    MutexLock lock(&wake.mutex);
    while (!wake.stopping && (wake.any ? least : most).Left() > absl::ZeroDuration()) {
      wake.changed.WaitFor(&wake.mutex, (wake.any ? least : most).Left());
    }
    if (wake.stopping) {
      return;
    }
    wake.any = false;
  }
}

}  // namespace waggle
