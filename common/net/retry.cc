#include "common/net/retry.h"

#include <random>

#include "absl/time/time.h"

namespace waggle {

bool MayPass(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:  // The peer is stopping.
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
      return true;
    default:
      return false;
  }
}

Backoff NewReconnectBackoff() {
  std::random_device device;  // Not the run's seed: the processes of a run must not pause alike.
  return Backoff(absl::Milliseconds(100), absl::Seconds(2), Rng(device()));
}

}  // namespace waggle
