#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/steady_now.h"

namespace waggle {

// What became of the checkpoints since the server was started: for people who ask. Thread-safe.
class LastCheckpoint {
 public:
  struct Info {
    uint64_t number = 0;             // Of the last one that was kept.
    std::optional<absl::Time> kept;  // By SteadyNow(); none where none was.
    std::string problem;             // Why the last one that was tried was not kept; empty where it was.
  };

  // One was tried.
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
