#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/mutex.h"

namespace waggle {

// What a process counts and measures, by name, for heartbeats and logs. Thread-safe; meant for a few thousand calls a
// second, so a hot loop adds up first.
class Metrics {
 public:
  // Adds to a counter. Counters only grow.
  void Add(absl::string_view counter, double amount) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets a gauge.
  void Set(absl::string_view gauge, double value) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets what the process is doing, in a word or two.
  void SetActivity(absl::string_view activity) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Snapshot {
    std::map<std::string, double> counters;
    std::map<std::string, double> gauges;
    std::string activity;
  };
  Snapshot TakeSnapshot() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable Mutex mutex_;
  Snapshot values_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
