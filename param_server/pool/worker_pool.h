#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/hub/ports/pool.h"
#include "param_server/pool/pool_slots.h"
#include "param_server/pool/pool_state.h"
#include "param_server/pool/run_needs.h"
#include "waggle/v1/experiment.pb.h"

namespace waggle {

struct WorkerPoolOptions {
  // A process that was not heard from for longer is dead, and its seats are free.
  absl::Duration silent_after = absl::Seconds(8);
  // The same for a process whose call was broken off, as happens if it ends.
  absl::Duration broken_off_after = absl::Seconds(2);
  // A replay server with a disk has so long to come back to its seat, where the tables are on that disk.
  absl::Duration storage_patience = absl::Minutes(10);
  // The same where they are in its memory: it may have been cut off only, and have them still.
  absl::Duration memory_patience = absl::Minutes(1);
  // For how long after an experiment of an earlier hub goes on those who worked for it may take up their seats again,
  // before they are given to others.
  absl::Duration rejoin_time = absl::Seconds(5);
  // From the first failure in a row to the next attempt; doubles with each, up to the second.
  absl::Duration first_retry = absl::Milliseconds(500);
  absl::Duration longest_retry = absl::Seconds(10);
  // Who works for so long has not failed at once, and those that failed before it do not count any more.
  absl::Duration settled_after = absl::Minutes(1);
  // So many failures in a row, or twice the seats of a role if that is more, end an experiment.
  int64_t max_failures = 10;
  int64_t max_members = 10'000;
};

// Decides which process works for which experiment, which seat it has, and which processes are lost; no other class
// does. Pure logic over times that it is given, which never go back; not thread-safe.
//
// An experiment:
//
//     queued --> opening --> running --> closing --> ended
//
//   queued   It waits for workers (PoolSlots).
//   opening  Its files are being opened. The workers that it needs are reserved (PoolSlots::Promise).
//   running  Its seats are given out (Begin, Tick).
//   closing  It is over. No more seats are given out (Close). Its last workers must give it up (End).
//   ended    Its results are saved. The pool has forgotten it since End.
//
// A worker, in one experiment:
//
//     free --> ordered --> seated <--> silent --> dismissed
//
//   free       It attends, and has no order: it never had one, or its order has ended (kEnded, kGaveUp).
//   ordered    It has been given a seat by an order (kOrdered). The order's number is its ticket: the run's hub
//              refuses a worker without one.
//   seated     It has joined the run. It sends its figures to the run's hub (WorkerTable).
//   silent     It was not heard from for a moment. If it calls again in time it is seated as before.
//   dismissed  It was silent for too long, has left, or another has its seat (kLost, kReleased). The run's hub refuses
//              it for good. If the process still lives, it gives the order up, and is free.
//
// The seat of a replay server that is silent for too long, or has left, is kept for the process that has its storage,
// which gets another order (kAway). The earlier worker is dismissed with that order.
//
// A restarted hub takes the workers of the earlier one back by the orders that they hold (kOrdered).
//
// Experiments that have begun have seats; each of their roles has a least and a largest number of them. A seat is given
// to a process of the right kind that has what it takes, last to one that has just failed; where there are not enough
// for all, experiments of higher priority come first, then those that began earlier; and what is left when all have
// their least is shared evenly among those of the highest priority that want more. An experiment that has more than its
// share gives some up for one that has less than its own.
//
// A seat whose worker is dead, gives up or leaves is given to another; that of a replay server with a disk waits
// for it to come back.
class WorkerPool {
 public:
  // `first_number`: of its orders; larger than all those of earlier hubs.
  WorkerPool(const WorkerPoolOptions& options, uint64_t first_number, absl::Time now)
      : options_(options), first_number_(first_number), ticked_(now) {
    state_.next_number = first_number;
  }

  // A process says what it is and does. INVALID_ARGUMENT for what cannot be; RESOURCE_EXHAUSTED for one too many. What
  // it has ended is ended; an order that it holds and this pool does not know, of an experiment that goes on here, is
  // taken for one of an earlier hub, and its seat is its own if that is free.
  absl::Status Attend(const v1::AttendRequest& attendance, absl::Time now);
  // It has been answered: from now on it is silent until it attends again.
  void Answered(const std::string& worker_id, absl::Time now);
  // It has broken its call off.
  void BrokeOff(const std::string& worker_id, absl::Time now);
  // It has said goodbye.
  void Leave(const std::string& worker_id, absl::Time now);

  // A process; null if it is not a member. Valid until the next change.
  const PoolMember* FindMember(const std::string& worker_id) const;
  // An experiment that has begun; null if it has not, or has ended. Valid until the next change.
  const PoolRun* FindRun(const std::string& experiment_id) const;
  // True if any member keeps data of the experiment.
  bool IsKept(const std::string& experiment_id) const;
  // All members, by kind and id.
  std::vector<v1::PoolMember> Members(absl::Time now) const;
  // Costs time for each member and seat.
  PoolSlots CountSlots() const { return PoolSlots(state_); }

  // The experiment has begun: its seats are given out from now on. `replay_storage`: as PoolRun::ReplayStorage.
  // `restored`: an earlier hub had given them out.
  void Begin(const RunNeeds& needs, const std::map<int64_t, std::string>& replay_storage, bool restored);
  // It is over: no more seats are given out. Its workers end by themselves, but for its replay servers.
  void Close(const std::string& experiment_id);
  // The workers that are left must give it up.
  void End(const std::string& experiment_id);

  // Finds dead members, and gives seats out. Returns the events since the last call.
  std::vector<PoolEvent> Tick(absl::Time now);

 private:
  bool IsDead(const PoolMember& member, absl::Time now) const;
  void TakeHeld(PoolMember* member, const v1::HeldOrder& held, absl::Time now);
  // An order of its own has ended, or it gives it up if `failure` is not empty.
  void TakeEnded(PoolMember* member, const WorkOrder& order, const std::string& failure, absl::Time now);
  // Releases recalled orders on which the member does not work any more.
  void ReleaseEnded(PoolMember* member);
  // It loses all its orders, as lost.
  void Unseat(PoolMember* member, const std::string& why, bool failed, absl::Time now);
  void CountFailure(const WorkOrder& order, const std::string& text, absl::Time now);
  // After so many failures in a row, until the next attempt.
  absl::Duration RetryPause(int64_t failures) const;
  void RemoveDead(absl::Time now);
  // The time in which this process itself stood still does not count as silence of members.
  void AllowForStandstill(absl::Time now);
  // Forgets failures before those who work now, and seats whose replay server does not come back.
  void Settle(absl::Time now);

  const WorkerPoolOptions options_;
  const uint64_t first_number_;
  absl::Time ticked_;  // When the last Tick was.
  PoolState state_;
};

}  // namespace waggle
