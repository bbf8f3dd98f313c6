#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/hub/ports/pool.h"
#include "param_server/pool/run_needs.h"
#include "waggle/v1/experiment.pb.h"

// The members of a pool, the seats of its experiments, and the steps by which both change together. Pure data; not
// thread-safe. WorkerPool has the states of each.

namespace waggle {

// An event of the pool, for the host of the experiments.
struct PoolEvent {
  enum class Kind {
    kOrdered,   // A seat was given.
    kEnded,     // Its worker has ended it.
    kGaveUp,    // Its worker gave up: `text` says why.
    kLost,      // Its worker is dead, or has left: it must be dismissed.
    kRecalled,  // Its worker is told to leave it, for another experiment, and may still report.
    kReleased,  // A recalled worker has ended, is dead or has left, or another has its seat: it must be dismissed.
    kAway,      // A replay server, which keeps its seat.
    kHopeless,  // Too many workers have failed: the experiment must fail; `text` says why.
  };
  Kind kind = Kind::kOrdered;
  WorkOrder order;  // For kHopeless without a number.
  std::string worker_id;
  std::string text;  // In words, for people.
  // The worker's process; for kOrdered only.
  int64_t process_id = 0;
  std::string host = {};
};

struct PoolMember {
  v1::AttendRequest attendance;  // As it said last.
  absl::Time heard;
  bool waits = false;       // For an answer.
  bool broken_off = false;  // Its last call.
  std::map<uint64_t, WorkOrder> orders;
  std::map<uint64_t, WorkOrder> recalled;  // Orders that have not ended yet, as far as is known.
  int64_t failures = 0;                    // In a row.
  absl::Time retry_at = absl::InfinitePast();

  std::vector<WorkOrder> Orders() const;
  // True if its orders are others than those that it says it has: it should be told.
  bool HasNews() const;
  // The number of orders on which it works, recalled ones included.
  int64_t Load() const;
  // True if it is of the kind that the group asks for and has the resources, be it free or not.
  bool Fits(const RunNeeds& run, const SeatGroup& group) const;
};

struct PoolSeat {
  WorkOrder order;
  std::string worker_id;   // Empty: the seat waits for the replay server with storage_id.
  std::string storage_id;  // Of a replay server with a disk; empty: the seat waits for no process.
  absl::Time since;        // When it was given, or became free.
};

// The seats of one role of an experiment.
struct PoolGroup {
  SeatGroup needs;
  std::map<int64_t, PoolSeat> seats = {};  // By index: those that are taken, or kept for a process.
  // By index: the worker that was told last to leave the seat. Its order may have ended since.
  std::map<int64_t, std::string> recalled = {};
  int64_t failures = 0;  // In a row.
  absl::Time retry_at = absl::InfinitePast();

  int64_t Taken() const;
};

// An experiment that has begun.
struct PoolRun {
  RunNeeds needs;
  std::vector<PoolGroup> groups;
  absl::Time begun;
  bool restored = false;  // An earlier hub had given out its seats.
  bool closed = false;    // No more seats are given out.

  int64_t Seated() const;
  int64_t Wanted() const;
  // Workers without its replay servers, which do not end by themselves.
  int64_t Working() const;
  // In words, the workers that it still waits for: "2 replay servers"; empty: none.
  std::string Missing() const;
  // By shard, the storage_id of the replay server that has the seat.
  std::map<int64_t, std::string> ReplayStorage() const;
  // True if the process has tables in memory of a seat that it has lost, so that nothing can use them.
  bool HasLostTables(const v1::AttendRequest& attendance) const;
};

struct PoolState {
  std::map<std::string, PoolMember> members;
  std::map<std::string, PoolRun> runs;  // That have begun, by experiment.
  std::vector<PoolEvent> events;        // Since the last Tick.
  uint64_t next_number = 0;             // Of the next order.

  // Null if there is none.
  PoolGroup* FindGroup(const std::string& experiment_id, Role role);
  // Gives the seat of an order to a member.
  void Seat(PoolGroup* group, PoolMember* member, const WorkOrder& order, const std::string& text, absl::Time now);
  // A member loses an order, and its seat unless that is kept for it.
  void Free(PoolMember* member, const WorkOrder& order, bool keep, absl::Time now);
  // A recalled order is over, which its event says.
  void Release(PoolMember* member, uint64_t number, const std::string& why);
};

}  // namespace waggle
