#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/hub/ports/hub.h"

namespace waggle {

// INVALID_ARGUMENT for counts that are negative or above kMaxCounter, an empty block, or a negative or infinite rate.
absl::Status Validate(const StepRequest& request);

// Leases the environment steps of a run with a limit to its actors. A lease is the number of steps that an actor may
// take in all its life. Pure logic over given times, which never go back; not thread-safe.
//
// Steps are either taken, leased or free. Their sum is the limit, so only an actor's last step can pass the limit, by
// its part beyond the lease. A lease is free again if it is not renewed for kStepLeaseLife, or its actor has left.
class StepLeases {
 public:
  // `restored`: actors that may hold leases of an earlier hub. No step is leased before each of them has asked, which
  // reports its lease, or has left, or kStepLeaseLife has passed, after which these leases are not valid any more.
  StepLeases(int64_t limit, std::set<std::string> restored, absl::Time now);

  // An actor's reported steps. Ignored for workers without a lease.
  void Report(const std::string& worker_id, int64_t used);

  // Returns the steps that the actor may take in all its life: those for two seconds at its rate, but at most its part
  // of half of the free steps, at least a block, and never more than are free. `taken`: by all actors. `actors`: alive.
  int64_t Take(const std::string& worker_id, const StepRequest& request, int64_t taken, int64_t actors, absl::Time now);

  // Frees the lease of an actor that has left.
  void Return(const std::string& worker_id);

 private:
  struct Lease {
    int64_t used = 0;
    int64_t allowed = 0;
    absl::Time renewed;

    int64_t unused() const { return allowed > used ? allowed - used : 0; }
  };
  // Sets a lease's figures and updates leased_.
  void Set(Lease* lease, int64_t used, int64_t allowed);
  void ReturnOverdue(absl::Time now);

  const int64_t limit_;
  const absl::Time begun_;
  std::set<std::string> restored_;  // Restored actors that have not asked yet.
  std::map<std::string, Lease> leases_;
  int64_t leased_ = 0;  // Unused steps of all leases.
  absl::Time swept_;    // The last check for overdue leases.
};

}  // namespace waggle
