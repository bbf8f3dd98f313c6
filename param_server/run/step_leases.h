#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/hub/ports/hub.h"

namespace waggle {

// INVALID_ARGUMENT for counts that are negative or too large, a block of no step, and a rate that cannot be.
absl::Status Validate(const StepRequest& request);

// Hands the environment steps of a run with a limit out to its actors, as leases: an actor may step until it has taken
// so many in all its life. Pure logic over times that it is given, which never go back; not thread-safe.
//
// Steps are either taken, or leased, or free, and together they are the limit, so the limit can be passed only by what
// an actor's last step takes beyond its lease. A lease that is not renewed for kStepLeaseLife, or whose actor has left,
// is free again.
class StepLeases {
 public:
  // `restored`: actors that may hold leases of an earlier hub. No step is given to anybody before each of them has
  // asked (and so has told its lease) or has left, or kStepLeaseLife has passed and no such lease is good any more.
  StepLeases(int64_t limit, std::set<std::string> restored, absl::Time now);

  // An actor's steps so far, of which it tells. Those of others change nothing.
  void Report(const std::string& worker_id, int64_t used);

  // How many steps the actor may take in all its life. It gets two seconds of its rate, but at most its part of half of
  // what is free, and at least a block; of what is free it never gets more than there is. `taken`: by all actors that
  // ever were. `actors`: that live.
  int64_t Take(const std::string& worker_id, const StepRequest& request, int64_t taken, int64_t actors, absl::Time now);

  // An actor has left.
  void Return(const std::string& worker_id);

 private:
  struct Lease {
    int64_t used = 0;
    int64_t allowed = 0;
    absl::Time renewed;

    int64_t unused() const { return allowed > used ? allowed - used : 0; }
  };
  // Sets a lease's figures and keeps leased_ true.
  void Set(Lease* lease, int64_t used, int64_t allowed);
  void ReturnOverdue(absl::Time now);

  const int64_t limit_;
  const absl::Time begun_;
  std::set<std::string> restored_;  // Those that have not asked yet.
  std::map<std::string, Lease> leases_;
  int64_t leased_ = 0;  // Unused steps of all leases.
  absl::Time swept_;    // When overdue leases were looked for last.
};

}  // namespace waggle
