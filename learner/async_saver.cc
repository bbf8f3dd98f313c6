#include "learner/async_saver.h"

#include <utility>

namespace waggle {

AsyncSaver::AsyncSaver(CheckpointStore* store) : store_(store), thread_("checkpoints", [this] { Run(); }) {}

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

absl::Status AsyncSaver::status() const {
  MutexLock lock(&mutex_);
  return status_;
}

absl::Status AsyncSaver::Save(CheckpointContents contents) {
  MutexLock lock(&mutex_);
  WaitForIdleLocked();
  if (!status_.ok()) {
    return status_;
  }
  pending_ = std::move(contents);
  busy_ = true;
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::Status AsyncSaver::Flush() {
  MutexLock lock(&mutex_);
  WaitForIdleLocked();
  return status_;
}

void AsyncSaver::WaitForIdleLocked() {
  while (busy_) {
    changed_.Wait(&mutex_);
  }
}

void AsyncSaver::Run() {
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
    const absl::Status saved = store_->Save(*contents);
    contents.reset();  // Before it counts as done: the next one takes as much memory.
    MutexLock lock(&mutex_);
    status_ = saved;
    busy_ = false;
    changed_.SignalAll();
  }
}

}  // namespace waggle
