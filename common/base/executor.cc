#include "common/base/executor.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {

Executor::Executor(const std::string& name, int threads, size_t max_queued) : max_queued_(max_queued) {
  threads_.reserve(threads);
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back(absl::StrCat(name, "-", i), [this] { Run(); });
  }
}

Executor::~Executor() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  threads_.clear();
}

absl::Status Executor::Submit(std::function<void()> task) {
  MutexLock lock(&mutex_);
  if (tasks_.size() >= max_queued_) {
    return absl::ResourceExhaustedError(absl::StrCat(max_queued_, " tasks wait already"));
  }
  tasks_.push_back(std::move(task));
  changed_.Signal();
  return absl::OkStatus();
}

void Executor::Run() {
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(&mutex_);
      while (tasks_.empty()) {
        if (stopping_) {
          return;
        }
        changed_.Wait(&mutex_);
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace waggle
