#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/stopwatch.h"

namespace waggle {

// Keeps a process's activity and its gauge "waiting_fraction" true while it exists, for one thread that works and waits
// in turns. Both are refreshed before each snapshot, so that they are right while the thread is stuck, and cost it
// nothing.
class WaitingGauge {
 public:
  struct Words {
    std::string working;  // "acting"
    std::string waiting;  // "waiting for room in replay"
  };
  struct Wait {
    absl::Duration total;            // Up to now.
    bool waiting = false;            // Now.
    const char* for_what = nullptr;  // Replaces Words::waiting if there are several things to wait for.
    // Further gauges, each the share of the time that its total grew by: {"room_waiting_fraction", …}. A gauge is set
    // once its total is not zero. Always the same ones, in the same order.
    std::vector<std::pair<const char*, absl::Duration>> shares = {};
  };

  // Any thread calls `wait`. The fraction covers at least `period`: the time since it was last set.
  WaitingGauge(Metrics* metrics, Words words, std::function<Wait()> wait,
               absl::Duration period = absl::Milliseconds(500));
  // Sets the fraction for the last time; one of less than a period only if there was no other yet.
  ~WaitingGauge();

 private:
  void Refresh(absl::Duration period);

  Metrics* const metrics_;
  const Words words_;
  const std::function<Wait()> wait_;
  const absl::Duration period_;
  // Touched by one snapshot at a time, and at both ends by the owner.
  bool measured_ = false;
  Wait before_;  // At `since_`.
  Stopwatch since_;
  std::unique_ptr<Metrics::Registration> registration_;
};

}  // namespace waggle
