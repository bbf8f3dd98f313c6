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
#include "param_server/pool/quotas.h"
#include "param_server/pool/run_needs.h"
#include "waggle/v1/experiment.pb.h"

namespace waggle {

struct WorkerPoolOptions {
  // Longest silence of a process. Then it counts as dead, and its seats are free.
  absl::Duration silent_after = absl::Seconds(8);
  // The same for a process whose call was broken off, which happens if it ends.
  absl::Duration broken_off_after = absl::Seconds(2);
  // Time for a replay server to come back to its seat if its tables are on a disk.
  absl::Duration storage_patience = absl::Minutes(10);
  // The same if the tables are in its memory: if it was only cut off it still has them.
  absl::Duration memory_patience = absl::Minutes(1);
  // Time for the workers of an earlier hub to take their seats again, from the moment when their experiment goes on.
  absl::Duration rejoin_time = absl::Seconds(5);
  // Pause after the first failure in a row; doubles with each failure, up to longest_retry.
  absl::Duration first_retry = absl::Milliseconds(500);
  absl::Duration longest_retry = absl::Seconds(10);
  // A worker that has worked for this time ends the row of failures.
  absl::Duration settled_after = absl::Minutes(1);
  // Failures in a row that end an experiment, or twice the seats of the role if that is more.
  int64_t max_failures = 10;
  int64_t max_members = 10'000;
  Quotas quotas;
};

// Decides which process works for which experiment, which seat it has, and which processes are lost. No other class
// decides this. Pure logic over given times, which never go back; not thread-safe.
//
// An experiment:
//
//     queued --> opening --> running --> closing --> ended
//
//   queued   It waits for workers (PoolSlots).
//   opening  Its files are being opened. The workers that it needs are reserved (PoolSlots::Promise).
//   running  Its seats are given (Begin, Tick).
//   closing  It is over. No more seats are given (Close). Its last workers must give it up (End).
//   ended    Its results are saved. The pool has forgotten it since End.
//
// A worker, in one experiment:
//
//     free --> ordered --> seated <--> silent --> dismissed
//
//   free       It attends and has no order, or its order has ended (kEnded, kGaveUp).
//   ordered    An order has given it a seat (kOrdered). The run's hub refuses workers without an order.
//   seated     It has joined the run. It sends its figures to the run's hub (WorkerTable).
//   silent     It was not heard from for a moment. If it calls again in time it is seated as before.
//   dismissed  It was silent for too long, has left, or another has its seat (kLost, kReleased). The run's hub refuses
//              it for good. If the process still lives, it gives the order up and is free.
//
// The seat of a replay server that is silent for too long, or has left, is reserved for the process with its storage,
// which gets another order (kAway). The earlier worker is dismissed with that order.
//
// A restarted hub takes the workers of the earlier hub back by the orders that they hold (kOrdered).
//
// Each role of an experiment has a least and a largest number of seats. A seat is given to a process with the kind and
// the resources that it needs, last to a process that has just failed. The least of all experiments is given first: by
// priority, then by submission. The other actors are shared evenly among the experiments of the highest priority. An
// experiment with more than its share gives actors up for one with less than its share.
class WorkerPool {
 public:
  // `first_number`: number of the first order; larger than those of earlier hubs.
  WorkerPool(const WorkerPoolOptions& options, uint64_t first_number, absl::Time now)
      : options_(options), first_number_(first_number), ticked_(now) {
    state_.next_number = first_number;
  }

  // A process reports its kind, its resources and its orders. Orders that it has ended are ended here. An unknown order
  // of an experiment that goes on here is one of an earlier hub: the process gets the seat if that is free.
  // INVALID_ARGUMENT for a wrong request; RESOURCE_EXHAUSTED if there are max_members.
  absl::Status Attend(const v1::AttendRequest& attendance, absl::Time now);
  // The member has its reply: it is silent until it attends again.
  void Answered(const std::string& worker_id, absl::Time now);
  // The member has broken its call off.
  void BrokeOff(const std::string& worker_id, absl::Time now);
  void Leave(const std::string& worker_id, absl::Time now);

  // Null if the process is not a member. Valid until the next change.
  const PoolMember* FindMember(const std::string& worker_id) const;
  // Null if the experiment has not begun, or has ended. Valid until the next change.
  const PoolRun* FindRun(const std::string& experiment_id) const;
  // True if a member has data of the experiment.
  bool IsKept(const std::string& experiment_id) const;
  // All members, by kind and id.
  std::vector<v1::PoolMember> Members(absl::Time now) const;
  // Takes time in proportion to the members and seats.
  PoolSlots CountSlots() const { return PoolSlots(state_); }

  // Its seats are given from now on. `replay_storage`: PoolRun::ReplayStorage. `restored`: it ran with an earlier hub,
  // whose workers go on.
  void Begin(const RunNeeds& needs, const std::map<int64_t, std::string>& replay_storage, bool restored);
  // Changes the priority of an experiment that has begun; does nothing for another.
  void SetPriority(const std::string& experiment_id, int64_t priority);
  // The running experiments' use of the quotas.
  QuotaBook CountUse() const;
  const Quotas& quotas() const { return options_.quotas; }
  const std::map<std::string, PoolRun>& runs() const { return state_.runs; }
  // The experiment is over: no more seats are given. All workers but replay servers end by themselves.
  void Close(const std::string& experiment_id);
  // The remaining workers must give the experiment up.
  void End(const std::string& experiment_id);

  // Finds dead members and gives seats. Returns the events since the last call.
  std::vector<PoolEvent> Tick(absl::Time now);

 private:
  bool IsDead(const PoolMember& member, absl::Time now) const;
  void TakeHeld(PoolMember* member, const v1::HeldOrder& held, absl::Time now);
  // The member has ended an order, or gives it up if `failure` is not empty.
  void TakeEnded(PoolMember* member, const WorkOrder& order, const std::string& failure, absl::Time now);
  // Releases recalled orders on which the member does not work any more.
  void ReleaseEnded(PoolMember* member);
  // Takes all orders from a member that is dead or has left.
  void Unseat(PoolMember* member, const std::string& why, bool failed, absl::Time now);
  void CountFailure(const WorkOrder& order, const std::string& text, absl::Time now);
  // The pause after this number of failures in a row.
  absl::Duration RetryPause(int64_t failures) const;
  void RemoveDead(absl::Time now);
  // Time in which this process stood still does not count as silence of members.
  void AllowForStandstill(absl::Time now);
  // Ends rows of failures, and frees reserved seats whose replay server does not come back.
  void Settle(absl::Time now);

  const WorkerPoolOptions options_;
  const uint64_t first_number_;
  absl::Time ticked_;  // Time of the last Tick.
  PoolState state_;
};

}  // namespace waggle
