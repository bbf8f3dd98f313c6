#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "param_server/pool/pool_state.h"
#include "param_server/pool/quotas.h"

namespace waggle {

// Gives the free seats of a pool to processes, and recalls actors for other experiments. Pure logic; not thread-safe.
class SeatGiver {
 public:
  // `pool` and `quotas` outlive this. Seats of a restored experiment are given out after `rejoin_time`.
  SeatGiver(PoolState* pool, const Quotas* quotas, absl::Duration rejoin_time, absl::Time now);

  void GiveSeats();

 private:
  // The best candidate first.
  using Candidates = std::map<std::tuple<int64_t, int64_t, size_t, std::string>, PoolMember*>;
  static Candidates::key_type RankOf(const PoolMember& member);

  // The most actors that the quotas let an experiment have beside the others, or its least number if that is more.
  int64_t MostActors(const PoolRun& run) const;
  // The fair number of actors of each experiment.
  std::map<std::string, int64_t> ActorShares() const;
  bool MayGive(const PoolRun& run, const PoolGroup& group) const;
  // Processes that can take a seat of the group now.
  Candidates FindCandidates(const PoolRun& run, const PoolGroup& group);
  // Gives seats of the group until `most` are taken or no process fits.
  void GiveUpTo(int64_t most, const PoolRun& run, PoolGroup* group);
  void Give(const PoolRun& run, PoolGroup* group, int64_t index, PoolMember* member);
  // Releases the worker that was recalled from this seat.
  void ReleaseSeat(PoolGroup* group, const WorkOrder& given);
  // Recalls the actors beyond what the quotas allow.
  void KeepQuotas();
  void Rebalance();
  // Recalls an actor from an experiment with more than its share that fits `poor`. Returns false if there is none.
  bool Recall(const PoolRun& poor, const SeatGroup& needs);
  // Recalls the actor from a seat. `why`: for the event.
  void GiveUp(PoolGroup* group, const PoolSeat& seat, const std::string& why);

  PoolState* const pool_;
  const Quotas* const quotas_;
  const absl::Duration rejoin_time_;
  const absl::Time now_;
  std::vector<PoolRun*> runs_;  // Runs that are not closed; the first are served first.
  const std::map<std::string, int64_t> shares_;
};

}  // namespace waggle
