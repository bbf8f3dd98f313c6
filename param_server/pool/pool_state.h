#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/hub/ports/pool.h"
#include "param_server/pool/run_needs.h"
#include "waggle/v1/experiment.pb.h"

// The members of a pool and the seats of its experiments; see WorkerPool for their states. Not thread-safe.

namespace waggle {

// An event of the pool, for the host of the experiments.
struct PoolEvent {
  enum class Kind {
    kOrdered,   // A seat was given to a worker.
    kEnded,     // The worker has ended its order.
    kGaveUp,    // The worker gave up: `text` says why.
    kLost,      // The worker is dead, or has left: it must be dismissed.
    kRecalled,  // The worker must leave for another experiment, and may still report.
    kReleased,  // A recalled worker has ended, is dead or has left, or another has its seat: it must be dismissed.
    kAway,      // A replay server is dead or has left, and its seat is reserved.
    kHopeless,  // Too many workers have failed: the experiment must fail; `text` says why.
  };
  Kind kind = Kind::kOrdered;
  WorkOrder order;
  std::string worker_id;
  std::string text;  // The event in words.
  // The worker's process; set for kOrdered only.
  int64_t process_id = 0;
  std::string host = {};
};

struct PoolMember {
  v1::AttendRequest attendance;  // Its last request.
  absl::Time heard;
  bool waits = false;       // A call of it waits for the reply.
  bool broken_off = false;  // Its last call was broken off.
  std::map<uint64_t, WorkOrder> orders;
  std::map<uint64_t, WorkOrder> recalled;  // Recalled orders without a report of their end.
  int64_t failures = 0;                    // In a row.
  absl::Time retry_at = absl::InfinitePast();

  std::vector<WorkOrder> Orders() const;
  // True if its orders differ from those in its last request.
  bool HasNews() const;
  // The number of its orders, recalled ones included.
  int64_t Load() const;
  // True if it has the kind and the resources that the group needs, free or not.
  bool Fits(const RunNeeds& run, const SeatGroup& group) const;
};

struct PoolSeat {
  WorkOrder order;
  std::string worker_id;   // Empty: the seat is reserved for the replay server with storage_id.
  std::string storage_id;  // Storage of a replay server; empty: the seat is never reserved.
  absl::Time since;        // When the seat was given, or became free.
};

// The seats of one role of an experiment.
struct PoolGroup {
  SeatGroup needs;
  std::map<int64_t, PoolSeat> seats = {};  // Taken and reserved seats, by index.
  // The worker that was last recalled from each seat, by index. Its order may have ended since.
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
  bool restored = false;  // An earlier hub had given its seats, and their workers may go on.
  bool closed = false;    // No more seats are given.

  int64_t Seated() const;
  int64_t Wanted() const;
  // Seated workers without replay servers, which do not end by themselves.
  int64_t Working() const;
  // The missing workers in words: "2 replay servers"; empty: none.
  std::string Missing() const;
  // The storage_id of the replay servers, by shard.
  std::map<int64_t, std::string> ReplayStorage() const;
  // True if the process has tables in memory of a seat that it has lost: they cannot be used any more.
  bool HasLostTables(const v1::AttendRequest& attendance) const;
};

struct PoolState {
  std::map<std::string, PoolMember> members;
  std::map<std::string, PoolRun> runs;  // Begun experiments, by id.
  std::vector<PoolEvent> events;        // Since the last Tick.
  uint64_t next_number = 0;             // Number of the next order.

  // Null if the experiment has not begun or has no group of this role.
  PoolGroup* FindGroup(const std::string& experiment_id, Role role);
  // Gives the seat of an order to a member.
  void Seat(PoolGroup* group, PoolMember* member, const WorkOrder& order, const std::string& text, absl::Time now);
  // Takes an order from a member. `keep`: the seat stays reserved for it.
  void Free(PoolMember* member, const WorkOrder& order, bool keep, absl::Time now);
  // Ends a recalled order. `why`: for its event.
  void Release(PoolMember* member, uint64_t number, const std::string& why);
};

}  // namespace waggle
