#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "param_server/pool/pool_state.h"

namespace waggle {

// The slots for orders of each process of a pool, all and free ones. Valid until the pool changes. Not thread-safe.
class PoolSlots {
 public:
  // Slots that begun experiments need for their least are not free.
  explicit PoolSlots(const PoolState& pool);

  // OK if an experiment could begin now. UNAVAILABLE, naming the missing workers, if it must wait for workers that are
  // busy with others; FAILED_PRECONDITION, with the sentences of Impossible, if all workers would not be enough.
  absl::Status CanBegin(const RunNeeds& needs) const;
  // Why all workers of the pool would not be enough, a sentence each behind the experiment's setting; empty if they
  // are.
  std::vector<std::string> Impossible(const RunNeeds& needs) const;
  // Takes free slots for an experiment that is about to begin.
  void Promise(const RunNeeds& needs) { Take(needs, &free_); }

 private:
  // The workers that a group lacks.
  struct Lack {
    const SeatGroup* group = nullptr;
    int64_t missing = 0;
  };
  // Takes slots for the least of each group. Returns the groups that lack workers.
  std::vector<Lack> Take(const RunNeeds& needs, std::vector<int64_t>* left) const;
  std::string ExplainLack(const RunNeeds& needs, const Lack& lack) const;

  std::vector<const PoolMember*> members_;  // Those with the fewest devices first: other groups may need devices.
  std::vector<int64_t> all_;                // By member.
  std::vector<int64_t> free_;               // By member.
};

}  // namespace waggle
