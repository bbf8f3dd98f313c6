#include "param_server/gradients/gradient_runner.h"

#include <utility>

#include "common/base/steady_now.h"

namespace waggle {

void GradientRunner::Start(GradientCore* core, std::function<void()> after) {
  core_ = core;
  after_ = std::move(after);
  thread_ = Thread("gradients", [this] { Run(); });
}

void GradientRunner::Stop() {
  std::deque<std::function<void()>> dropped;  // Destroyed outside the lock.
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
    changed_.SignalAll();
  }
  thread_.Join();
}

void GradientRunner::Take(GradientPush push, Answer answer) {
  Post([this, push = std::move(push), answer = std::move(answer)]() mutable {
    core_->Take(std::move(push), std::move(answer), SteadyNow());
  });
}

void GradientRunner::Post(std::function<void()> task) {
  MutexLock lock(&mutex_);
  if (!stopping_) {
    tasks_.push_back(std::move(task));
    changed_.SignalAll();
  }
}

void GradientRunner::Run() {
  while (true) {
    const absl::Time next = core_->NextTick();
    std::function<void()> task;
    {
      MutexLock lock(&mutex_);
      while (!stopping_ && tasks_.empty() && SteadyNow() < next) {
        changed_.WaitFor(&mutex_, next - SteadyNow());
      }
      if (stopping_) {
        return;
      }
      if (!tasks_.empty()) {
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
    }
    if (task != nullptr) {
      task();
      task = nullptr;
    }
    core_->Tick(SteadyNow());
    if (after_ != nullptr) {
      after_();
    }
  }
}

}  // namespace waggle
