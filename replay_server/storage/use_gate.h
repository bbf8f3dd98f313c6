#pragma once

#include <cstdint>

#include "common/base/threads/mutex.h"

namespace waggle {

// Protects an object that many threads use and that its owner replaces at times. Thread-safe.
class UseGate {
 public:
  // For users, which must call Leave. Waits while the gate is shut.
  void Enter() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    while (shut_) {
      changed_.Wait(&mutex_);
    }
    ++users_;
  }
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    --users_;
    changed_.SignalAll();
  }

  // For the owner. Stops new users, and waits until all have left.
  void Shut() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    shut_ = true;
    while (users_ > 0) {
      changed_.Wait(&mutex_);
    }
  }
  void Open() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    shut_ = false;
    changed_.SignalAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int64_t users_ ABSL_GUARDED_BY(mutex_) = 0;
  bool shut_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
