#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "tests/bench/bench.h"

namespace waggle::bench {

// What one process of a crew tells the others: memory that all of them share.
struct alignas(64) Seat {
  static constexpr size_t kMaxCalls = size_t{1} << 16;

  std::atomic<uint64_t> inserted;  // Items, acknowledged.
  std::atomic<uint64_t> sampled;
  std::atomic<uint64_t> updated;
  std::atomic<uint64_t> calls;                        // The newest kMaxCalls of them are timed below.
  std::array<std::atomic<float>, kMaxCalls> call_ms;  // Call i at i modulo kMaxCalls.
  void TimedCall(absl::Duration taken);
};

// Rates a second over rounds of watching: of the best one and of the middle one.
struct Watched {
  double best = 0;
  double median = 0;
};
struct Rates {
  Watched inserted;
  Watched sampled;
  Watched updated;
};

// Clients in processes of their own, as users run them: forked from this one, which therefore must not have used gRPC
// and has no other thread at that moment. They die with it. One thread.
class ProcessCrew {
 public:
  ProcessCrew();
  // Tells everyone to stop, and waits until they have.
  ~ProcessCrew();
  ProcessCrew(const ProcessCrew&) = delete;
  ProcessCrew& operator=(const ProcessCrew&) = delete;

  // A process that works until it is done or `stop` is true.
  using Work = std::function<void(Seat* seat, const std::atomic<bool>& stop)>;
  void Start(const Work& work);

  // Waits until all have ended by themselves.
  void Join();
  // Waits until everyone has done something, and `warm_up` longer.
  void AwaitWork(absl::Duration warm_up);
  // Watches the counters for some rounds.
  Rates Watch(int rounds, absl::Duration round) const;
  // Lets the first process work on for this long and returns what its timed calls took then, in milliseconds, sorted.
  std::vector<double> WatchCalls(absl::Duration duration) const;

 private:
  static constexpr size_t kMaxProcesses = 16;
  struct Shared {
    std::atomic<bool> stop;
    std::array<Seat, kMaxProcesses> seats;
  };

  // Notices one that has failed, which ends this process too. Returns whether any is still there.
  bool Reap();

  Shared* const shared_;
  std::vector<pid_t> processes_;  // 0: has ended.
};

}  // namespace waggle::bench
