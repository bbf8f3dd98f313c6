#include "common/rl/publishing/async_saver.h"

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/log.h"
#include "common/base/stopwatch.h"

namespace waggle {

AsyncSaver::AsyncSaver(CheckpointStore* store, Metrics* metrics)
    : store_(store), metrics_(metrics), thread_("checkpoints", [this] { Run(); }) {
  SetWrittenNow();  // Before the first, the age of the newest is that of the training.
}

AsyncSaver::~AsyncSaver() {
  MutexLock lock(&mutex_);
  WaitForIdleLocked();
  closed_ = true;
  changed_.SignalAll();
}

bool AsyncSaver::busy() const {
  MutexLock lock(&mutex_);
  return busy_;
}

int64_t AsyncSaver::written_step() const {
  MutexLock lock(&mutex_);
  return written_step_;
}

void AsyncSaver::Save(CheckpointContents contents) {
  MutexLock lock(&mutex_);
  WaitForIdleLocked();
  pending_ = std::move(contents);
  busy_ = true;
  changed_.SignalAll();
}

std::optional<absl::Status> AsyncSaver::TakeResult() {
  MutexLock lock(&mutex_);
  return std::exchange(taken_, true) ? std::nullopt : std::make_optional(last_);
}

absl::Status AsyncSaver::Flush() {
  MutexLock lock(&mutex_);
  WaitForIdleLocked();
  return last_;
}

void AsyncSaver::WaitForIdleLocked() {
  while (busy_) {
    changed_.Wait(&mutex_);
  }
}

void AsyncSaver::SetWrittenNow() {
  metrics_->Set("process/checkpoint_unix_seconds", absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
}

void AsyncSaver::Run() {
  bool failing = false;
  while (true) {
    std::optional<CheckpointContents> contents;
    {
      MutexLock lock(&mutex_);
      while (!closed_ && !pending_.has_value()) {
        changed_.Wait(&mutex_);
      }
      if (closed_) {
        return;
      }
      contents = std::exchange(pending_, std::nullopt);
    }
    const int64_t step = contents->step;
    const Stopwatch since;
    const absl::Status saved = store_->Save(*contents);
    contents.reset();  // Freed first: the next one takes as much memory.
    if (saved.ok()) {
      metrics_->Add("process/checkpoints_written", 1);
      metrics_->Add("process/checkpoint_writing_seconds", absl::ToDoubleSeconds(since.Elapsed()));
      SetWrittenNow();
    } else {
      metrics_->Add("checkpoints_failed", 1);
    }
    if (saved.ok() == failing) {  // Logs the first of consecutive failures only.
      failing = !failing;
      metrics_->Set("checkpoint_failing", failing ? 1 : 0);
      failing ? LogWarning("a checkpoint could not be written and is tried again: ", saved.ToString())
              : LogInfo("checkpoints are written again, from that of step ", step, " on");
    }
    MutexLock lock(&mutex_);
    written_step_ = saved.ok() ? step : written_step_;
    last_ = saved;
    taken_ = false;
    busy_ = false;
    changed_.SignalAll();
  }
}

}  // namespace waggle
