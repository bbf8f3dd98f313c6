#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// A process's counters and gauges, by name, for heartbeats and logs. Thread-safe; meant for a few thousand calls a
// second, so a hot loop adds up first.
class Metrics {
 public:
  // Adds to a counter. Counters only grow.
  void Add(absl::string_view counter, double amount) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets a gauge. A value measured over a period holds for about another one: unless it is set again within `lifetime`,
  // snapshots are without it.
  void Set(absl::string_view gauge, double value, absl::Duration lifetime = absl::InfiniteDuration())
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes all gauges, for work that begins anew.
  void ForgetGauges() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets the process's present activity, in a word or two.
  void SetActivity(absl::string_view activity) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets the last error that the process got over, for users; it may have several lines.
  void SetLastError(absl::string_view error) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Snapshot {
    std::map<std::string, double> counters;
    std::map<std::string, double> gauges;
    std::string activity;
    std::string last_error;  // Empty if there was none.
  };
  // Calls the functions of BeforeSnapshot first.
  Snapshot TakeSnapshot() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A function that is called before each snapshot, and whose end can be waited for.
  struct Refresher {
    // Held while the function runs, and otherwise only by the end of its registration: a snapshot must not call a
    // function that is gone.
    Mutex mutex;
    std::function<void()> refresh ABSL_GUARDED_BY(mutex);
  };

 public:
  // Keeps a function registered until it is destroyed, which waits while the function runs.
  class Registration {
   public:
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    friend class Metrics;
    Registration(Metrics* metrics, std::shared_ptr<Refresher> refresher)
        : metrics_(metrics), refresher_(std::move(refresher)) {}
    Metrics* const metrics_;
    const std::shared_ptr<Refresher> refresher_;
  };

  // Calls `refresh` before each snapshot, in the thread that takes it and never twice at once, so that it can set
  // values that change by time alone. It takes no snapshot and ends no registration. The metrics outlive the
  // registration.
  std::unique_ptr<Registration> BeforeSnapshot(std::function<void()> refresh) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Gauge {
    double value = 0;
    absl::Time holds_until;  // By SteadyNow().
  };

  mutable Mutex mutex_;
  std::map<std::string, double> counters_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Gauge> gauges_ ABSL_GUARDED_BY(mutex_);
  std::string activity_ ABSL_GUARDED_BY(mutex_);
  std::string last_error_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Refresher>> refreshers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
