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

// One process's counters, in memory that the crew shares.
struct alignas(64) Seat {
  static constexpr size_t kMaxCalls = size_t{1} << 16;

  std::atomic<uint64_t> inserted;  // Acknowledged items.
  std::atomic<uint64_t> sampled;
  std::atomic<uint64_t> updated;
  std::atomic<uint64_t> calls;                        // The newest kMaxCalls calls are timed below.
  std::array<std::atomic<float>, kMaxCalls> call_ms;  // Call i at i modulo kMaxCalls.
  void TimedCall(absl::Duration taken);
};

// The best and the middle rate per second over several rounds.
struct Watched {
  double best = 0;
  double median = 0;
};
struct Rates {
  Watched inserted;
  Watched sampled;
  Watched updated;
};

// Clients in their own processes, as users run them. They are forked from this process, which must not have used gRPC
// or have another thread then. They die with it. One thread.
class ProcessCrew {
 public:
  ProcessCrew();
  // Tells all processes to stop, and waits until they have.
  ~ProcessCrew();
  ProcessCrew(const ProcessCrew&) = delete;
  ProcessCrew& operator=(const ProcessCrew&) = delete;

  // A process that works until it is done or `stop` is true.
  using Work = std::function<void(Seat* seat, const std::atomic<bool>& stop)>;
  void Start(const Work& work);

  // Waits until all have ended by themselves.
  void Join();
  // Waits until each process has done something, and `warm_up` longer.
  void AwaitWork(absl::Duration warm_up);
  // Watches the counters for some rounds.
  Rates Watch(int rounds, absl::Duration round) const;
  // Lets the first process work for this long, and returns the sorted times of its timed calls, in milliseconds.
  std::vector<double> WatchCalls(absl::Duration duration) const;

 private:
  static constexpr size_t kMaxProcesses = 16;
  struct Shared {
    std::atomic<bool> stop;
    std::array<Seat, kMaxProcesses> seats;
  };

  // Ends this process too if a process has failed. Returns true if any is still running.
  bool Reap();

  Shared* const shared_;
  std::vector<pid_t> processes_;  // 0: has ended.
};

}  // namespace waggle::bench
