#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/stopwatch.h"
#include "common/metrics/metrics.h"

namespace waggle {

// Keeps a process's activity and its gauge "waiting_fraction" true while it exists, for one thread that works and waits
// in turns: both are looked up before each snapshot, so that they are right while the thread is stuck, and cost it
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
    const char* for_what = nullptr;  // Said instead of Words::waiting, where there are several things to wait for.
  };

  // `wait` is called by any thread. The fraction is that of at least `period`: the time since it was last set.
  WaitingGauge(Metrics* metrics, Words words, std::function<Wait()> wait,
               absl::Duration period = absl::Milliseconds(500));
  // Sets the fraction for the last time: that of less than a period only where there was no other yet.
  ~WaitingGauge();

 private:
  void Refresh(absl::Duration period);

  Metrics* const metrics_;
  const Words words_;
  const std::function<Wait()> wait_;
  const absl::Duration period_;
  // Touched by one snapshot at a time, and at both ends by the owner.
  bool measured_ = false;
  absl::Duration waited_;
  Stopwatch since_;
  std::unique_ptr<Metrics::Registration> registration_;
};

}  // namespace waggle
