#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "param_server/pool/pool_state.h"

namespace waggle {

// The orders that each process of a pool can have, and those of them that others leave. Valid until the pool changes.
// Not thread-safe.
class PoolSlots {
 public:
  // The least that begun experiments lack is taken from it.
  explicit PoolSlots(const PoolState& pool);

  // OK if an experiment could begin now. UNAVAILABLE, saying what is missing, if it must wait for workers that are busy
  // with others; FAILED_PRECONDITION, saying what is missing, if all workers would not be enough.
  absl::Status CanBegin(const RunNeeds& needs) const;
  // Takes the slots that an experiment needs which is about to begin.
  void Promise(const RunNeeds& needs) { Take(needs, &free_); }

 private:
  // Takes slots for the least of each group. Returns the missing workers, in words; empty: none.
  std::string Take(const RunNeeds& needs, std::vector<int64_t>* left) const;

  std::vector<const PoolMember*> members_;  // Those with the fewest devices first: others may need devices.
  std::vector<int64_t> all_;                // By member.
  std::vector<int64_t> free_;               // As well.
};

}  // namespace waggle
