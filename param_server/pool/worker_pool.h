#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/pool.h"
#include "param_server/pool/run_needs.h"
#include "waggle/v1/experiment.pb.h"

namespace waggle {

struct WorkerPoolOptions {
  // A process that was not heard from for longer is dead, and its seats are free.
  absl::Duration silent_after = absl::Seconds(8);
  // The same of one whose call was broken off, as that of a process that has ended.
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

// What a pool has to tell whoever runs the experiments.
struct PoolEvent {
  enum class Kind {
    kOrdered,   // A seat was given.
    kEnded,     // Its worker is through with it.
    kGaveUp,    // Its worker gave up: `text` says why.
    kLost,      // Its worker is dead, or has left: it is to be dismissed.
    kRecalled,  // Its worker is told to leave it, for another experiment, and has its last to say.
    kReleased,  // One that was recalled has ended, is dead or has left, or another has its seat: it is to be dismissed.
    kAway,      // A replay server, which keeps its seat.
    kHopeless,  // Too many have failed: the experiment is to fail; `text` says why.
  };
  Kind kind = Kind::kOrdered;
  WorkOrder order;  // For kHopeless without a number.
  std::string worker_id;
  std::string text;  // In words, for people.
  // The worker's process; for kOrdered only.
  int64_t process_id = 0;
  std::string host = {};
};

// Decides which process works for which experiment, which seat it has, and which processes are lost; no other class
// does. Pure logic over times that it is given, which never go back; not thread-safe.
//
// An experiment:
//
//     queued --> opening --> running --> closing --> ended
//
//   queued   It waits for workers (CanBegin).
//   opening  Its files are being opened. The workers that it needs are reserved (Promise).
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
      : options_(options), first_number_(first_number), last_number_(first_number), ticked_(now) {}

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

  // What a process should work on now; empty for one that is not known.
  std::vector<WorkOrder> OrdersOf(const std::string& worker_id) const;
  // Whether that is something else than what it said it does: it should be told.
  bool HasNews(const std::string& worker_id) const;

  // OK where an experiment could begin now, as far as the pool goes; UNAVAILABLE, saying what is missing, where it has
  // to wait for those who work for others; FAILED_PRECONDITION, saying what is missing, where all that there are would
  // not be enough.
  absl::Status CanBegin(const RunNeeds& needs) const;
  // How many orders each process can have, and how many of them others leave; until the pool changes. Costs more than
  // CanBegin by itself.
  struct Slots;
  Slots CountSlots() const;
  absl::Status CanBegin(const RunNeeds& needs, const Slots& slots) const;
  // Takes what an experiment needs that is about to begin.
  void Promise(const RunNeeds& needs, Slots* slots) const;
  // The experiment has begun: its seats are given out from now on. `replay_storage`: as ReplayStorage. `restored`: an
  // earlier hub had given them out.
  void Begin(const RunNeeds& needs, const std::map<int64_t, std::string>& replay_storage, bool restored);
  // It is over: no more seats are given out. Those who work for it end by themselves.
  void Close(const std::string& experiment_id);
  // How many work for it still, but for its replay servers, who do not end by themselves.
  int64_t Working(const std::string& experiment_id) const;
  // Whoever still works for it is to give it up.
  void End(const std::string& experiment_id);

  // By shard, the storage_id of the replay server that has the seat.
  std::map<int64_t, std::string> ReplayStorage(const std::string& experiment_id) const;
  // Workers that an experiment has, and how many it would have.
  int64_t Seated(const std::string& experiment_id) const;
  int64_t Wanted(const std::string& experiment_id) const;
  // In words, what an experiment that has begun still waits for: "2 replay servers"; empty: nothing.
  std::string Missing(const std::string& experiment_id) const;

  // Finds the dead, and gives seats out. Returns all that has happened since the last call.
  std::vector<PoolEvent> Tick(absl::Time now);

  // Everyone, by kind and id.
  std::vector<v1::PoolMember> Members(absl::Time now) const;
  // Whether a process has tables of the experiment that are of no use any more, as it has lost its seat.
  bool HasLostTables(const std::string& worker_id, const std::string& experiment_id) const;
  // Whether any of them keeps something of the experiment.
  bool IsKept(const std::string& experiment_id) const;
  // Of one: what it said last, or null.
  const v1::AttendRequest* Find(const std::string& worker_id) const;

 private:
  struct Member {
    v1::AttendRequest attendance;
    absl::Time heard;
    bool waits = false;       // For an answer.
    bool broken_off = false;  // Its last call.
    std::map<uint64_t, WorkOrder> orders;
    std::map<uint64_t, WorkOrder> recalled;  // That have not ended yet, as far as is known.
    int64_t failures = 0;                    // In a row.
    absl::Time retry_at = absl::InfinitePast();

    // What it works on, also where it has not heard yet that it should not.
    int64_t Load() const;
  };
  struct Seat {
    WorkOrder order;
    std::string worker_id;   // Empty: it waits for whom storage_id says.
    std::string storage_id;  // Of a replay server with a disk; empty: the seat waits for nobody.
    absl::Time since;        // When it was given, or became free.
  };
  // Those of one role of an experiment.
  struct Group {
    SeatGroup needs;
    std::map<int64_t, Seat> seats = {};  // By index: those that are taken, or kept for someone.
    // By index: who was told to leave the seat last. Its order may have ended since.
    std::map<int64_t, std::string> recalled = {};
    int64_t failures = 0;  // In a row.
    absl::Time retry_at = absl::InfinitePast();

    int64_t Taken() const;
  };
  struct Run {
    RunNeeds needs;
    std::vector<Group> groups;
    absl::Time begun;
    bool restored = false;
    bool closed = false;
  };

  bool IsDead(const Member& member, absl::Time now) const;
  // Whether a process is of the kind that a group asks for, and has what it takes, be it free or not.
  static bool Fits(const Member& member, const RunNeeds& run, const SeatGroup& group);
  // Finds whether there are enough processes that can have so many orders each, and takes them from there. Returns what
  // is missing, in words; empty: nothing.
  static std::string TakeSlots(const RunNeeds& needs, const std::vector<const Member*>& members,
                               std::vector<int64_t>* left);
  // The seat of an order that this process has; null where it has none.
  Seat* FindSeat(const WorkOrder& order, const std::string& worker_id);
  Group* FindGroup(const std::string& experiment_id, Role role);
  void TakeHeld(Member* member, const v1::HeldOrder& held, absl::Time now);
  // An order of its own has ended, or it gives it up where `failure` is not empty.
  void TakeEnded(Member* member, const WorkOrder& order, const std::string& failure, absl::Time now);
  // Whether the seat of an order would wait for this process to come back.
  static bool KeepsSeat(const Member& member, const WorkOrder& order);
  // Whether the process has tables of a seat that it has lost: in its memory, so that they are of no use to anybody.
  static bool HasLostTables(const Member& member, const Run& run);
  // An order that was recalled is over, which its event says.
  void Release(Member* member, uint64_t number, const std::string& why);
  // Those that it does not work on any more.
  void ReleaseEnded(Member* member);
  // Releases the worker that was recalled from this seat, as the seat is given to another.
  void ReleaseSeat(Group* group, const WorkOrder& given);
  // The process loses an order, and its seat unless that is kept for it.
  void Free(Member* member, const WorkOrder& order, bool keep, absl::Time now);
  // It loses all of them, as lost.
  void Unseat(Member* member, const std::string& why, bool failed, absl::Time now);
  void CountFailure(const WorkOrder& order, const std::string& text, absl::Time now);
  // After so many failures in a row, until the next attempt.
  absl::Duration RetryPause(int64_t failures) const;
  void RemoveDead(absl::Time now);
  // The time that this process itself stood still in does not count as anybody's silence.
  void AllowForStandstill(absl::Time now);
  // Forgets failures before those who work now, and seats whose replay server does not come back.
  void Settle(absl::Time now);
  bool MayGive(const Run& run, const Group& group, absl::Time now) const;
  // Gives seats of the group out, up to so many, as far as there are processes for them.
  void GiveSeats(const Run& run, Group* group, int64_t most, absl::Time now);
  void Give(const Run& run, Group* group, int64_t index, Member* member, absl::Time now);
  // Those who could have a seat of the group now, the best first.
  using Candidates = std::map<std::tuple<int64_t, int64_t, size_t, std::string>, Member*>;
  static Candidates::key_type RankOf(const Member& member);
  Candidates FindCandidates(const Run& run, const Group& group, absl::Time now);
  // How many actors each experiment should have now.
  std::map<std::string, int64_t> ActorShares() const;
  void Rebalance(const std::map<std::string, int64_t>& shares, absl::Time now);
  // Takes an actor from an experiment that has more than its share, for one that can use him. Returns whether there was
  // one.
  bool Recall(const Run& poor, const SeatGroup& needs, const std::map<std::string, int64_t>& shares, absl::Time now);
  // Those that are open, in the order in which they are served.
  std::vector<Run*> InOrder();

  const WorkerPoolOptions options_;
  const uint64_t first_number_;
  uint64_t last_number_;
  absl::Time ticked_;  // When the last Tick was.
  std::map<std::string, Member> members_;
  std::map<std::string, Run> runs_;  // That have begun, by experiment.
  std::vector<PoolEvent> events_;
};

struct WorkerPool::Slots {
  std::vector<const Member*> members;  // Those with the fewest devices first: devices are left for who needs them.
  std::vector<int64_t> all;            // By member: how many orders it can have.
  std::vector<int64_t> free;           // How many of them others leave.
};

}  // namespace waggle
