#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/time/time.h"
#include "common/base/steady_now.h"
#include "common/base/threads/mutex.h"

namespace waggle {

struct PeerRateOptions {
  double per_second = 0;  // In the long run.
  double burst = 0;       // At once, after a quiet time.
  size_t max_peers = 4096;
};

// Bounds how often each peer may do something (a token bucket a peer). Remembers `max_peers` peers; beyond them it
// forgets those that have been quiet for long, and in a flood of peers all of them. Thread-safe.
class PeerRates {
 public:
  explicit PeerRates(const PeerRateOptions& options, std::function<absl::Time()> clock = &SteadyNow)
      : options_(options), clock_(std::move(clock)) {}

  // True if the peer may do it once more.
  bool Take(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Bucket {
    double left = 0;
    absl::Time at;
  };
  // The calls that the peer has left at `now`.
  double LeftAt(const Bucket& bucket, absl::Time now) const;
  void ForgetQuietPeers(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PeerRateOptions options_;
  const std::function<absl::Time()> clock_;
  Mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
