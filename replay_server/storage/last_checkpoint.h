#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/steady_now.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// Outcome of the latest checkpoints since the start, for people. Thread-safe.
class LastCheckpoint {
 public:
  struct Info {
    uint64_t number = 0;             // The last kept copy.
    std::optional<absl::Time> kept;  // By SteadyNow(); null before the first.
    std::string problem;             // Why the last attempt failed; empty if it succeeded.
  };

  void Note(const absl::Status& status, uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    info_.problem = std::string(status.message());
    if (status.ok()) {
      info_.number = number;
      info_.kept = SteadyNow();
    }
  }

  Info info() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return info_;
  }

 private:
  mutable Mutex mutex_;
  Info info_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
