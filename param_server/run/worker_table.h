#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/shared_value.h"
#include "common/hub/ports/hub.h"

namespace waggle {

// A worker of a run, as the pool describes it.
struct WorkerIntroduction {
  std::string worker_id;  // Unique: contains the number of its order, see RunWorkerId.
  Role role = Role::kActor;
  int64_t process_id = 0;
  std::string host;
  std::string address;  // HOST:PORT, known once it has joined; empty if it does not serve.
};

// A worker's request to take its seat.
struct WorkerArrival {
  std::string worker_id;
  std::string address;
  // A worker that joins again sends its earlier numbers.
  uint64_t epoch = 0;            // 0: none.
  std::optional<uint64_t> life;  // For actors and evaluators.
};

// A worker's figures in a heartbeat.
struct WorkerFigures {
  std::string activity;
  std::map<std::string, double> counters;
  std::map<std::string, double> gauges;
  absl::Duration taken_at;  // On the worker's monotonic clock.
  std::string last_error;   // The last error that the worker survived; empty: there was none.
};

// A worker as an overview shows it.
struct WorkerView {
  WorkerIntroduction introduction;
  int64_t index = 0;
  uint64_t epoch = 0;
  std::optional<uint64_t> life;  // Set once an actor or evaluator has joined.
  absl::Time joined;
  absl::Duration silent;  // Since its last heartbeat.
  bool alive = false;
  bool gone = false;     // It left, or another one has its seat.
  bool current = false;  // A heartbeat came a moment ago, even if the worker has left since.
  SharedValue<WorkerFigures> figures;
  std::string failure;  // Why it gives up; empty otherwise.
  // Counts a second by counter, over the last heartbeats since the first with an event. A counter is missing until its
  // rate is known. Empty if the worker is not current, or gone.
  SharedValue<std::map<std::string, double>> rates;
};

struct WorkerTableOptions {
  absl::Duration current_for = absl::Seconds(2);  // Two heartbeats. Figures that are older are not current.
  int64_t max_gone = 100;                         // Workers that are shown after they left; the oldest are forgotten.
};

// The seats of one run, and its workers with their figures. Only workers with an order of the WorkerPool are here,
// which gives the seats and finds lost workers. Pure logic over given times, which never go back; not thread-safe.
class WorkerTable {
 public:
  explicit WorkerTable(const WorkerTableOptions& options) : options_(options) {}

  // The pool has given the worker a seat: it may join. An earlier worker of the seat leaves.
  void Order(const WorkerIntroduction& worker, int64_t index, absl::Time now);

  // The worker, if it may take its seat. Valid until the next change. UNAVAILABLE if its order is not known (yet, after
  // a restart). ALREADY_EXISTS if it was dismissed. INVALID_ARGUMENT for a wrong address or life.
  absl::StatusOr<const WorkerView*> CheckArrival(const WorkerArrival& arrival) const;

  // Seats a worker with the numbers of its request, also if it is seated already. Errors as CheckArrival.
  absl::StatusOr<const WorkerView*> Join(const WorkerArrival& arrival, absl::Time now);

  // NOT_FOUND: the worker must join (again). ALREADY_EXISTS: it was dismissed. INVALID_ARGUMENT for too many figures,
  // wrong names, and counters that are negative or above kMaxCounter.
  absl::Status Heartbeat(const std::string& worker_id, WorkerFigures figures, absl::Time now);

  // OK for a seated worker; errors as Heartbeat for others.
  absl::Status CheckSeated(const std::string& worker_id) const;

  // A seated worker gives up.
  void SetFailure(const std::string& worker_id, const std::string& failure);

  // Ends the worker's order and frees its seat. Unknown workers are ignored: they have left before. `barred`: the
  // message for a dismissed worker that comes back; empty if it was not dismissed.
  void Leave(const std::string& worker_id, absl::Time now, const std::string& barred = "");
  // The pool does not hear the worker, and reserves its seat.
  void SetAway(const std::string& worker_id);

  void SetEpoch(const std::string& worker_id, uint64_t epoch);

  // True if the worker has an order, or left so recently that it is still shown.
  bool Knows(const std::string& worker_id) const;

  // The worker if it is seated; null otherwise. Valid until the next change.
  const WorkerView* Find(const std::string& worker_id) const;

  // Absent if the worker has no order.
  std::optional<Role> OrderedRole(const std::string& worker_id) const;
  // The worker that has the order for a seat; empty if the seat is free.
  std::string HolderOf(Role role, int64_t index) const;

  // The living workers of a role, in the order of their indices.
  std::vector<const WorkerView*> Alive(Role role) const;

  // The addresses of a role's workers, by index. If the worker of an index is gone its last address counts, unless
  // another worker serves there now. Empty for an index without an address.
  std::vector<std::string> Addresses(Role role) const;

  // Includes workers that are away.
  int64_t CountSeated() const { return seated_; }

  // Takes constant time: each answer to a heartbeat has it.
  int64_t CountAlive(Role role) const;

  // All workers, gone ones included, by role and index.
  std::vector<WorkerView> Overview(absl::Time now) const;

 private:
  struct Worker {
    WorkerView view;
    bool seated = false;  // It has joined; otherwise it has only its order.
    bool away = false;
    absl::Time last_heartbeat;
    std::deque<SharedValue<WorkerFigures>> samples;  // The oldest first.
    // Rates of these samples; absent until they are asked for.
    mutable std::optional<SharedValue<std::map<std::string, double>>> rates;
    std::string barred;  // Why a dismissed worker must not come back; empty if it was not dismissed.

    bool IsAlive() const { return seated && !away; }
  };
  using Seats = std::map<std::pair<Role, int64_t>, Worker>;  // By role and index.

  // ALREADY_EXISTS for a dismissed worker.
  absl::Status CheckNotBarred(const std::string& worker_id) const;
  // Null if the worker has not joined.
  Worker* FindSeated(const std::string& worker_id) const;
  // The seats of one role.
  std::pair<Seats::const_iterator, Seats::const_iterator> Of(Role role) const;
  static void AddSample(Worker* worker);
  static const SharedValue<std::map<std::string, double>>& Rates(const Worker& worker);

  const WorkerTableOptions options_;
  Seats seats_;  // One for each order.
  std::map<std::string, Seats::iterator> seat_of_;
  std::map<Role, int64_t> alive_;  // Counts, by role.
  int64_t seated_ = 0;
  std::deque<Worker> gone_;  // Oldest first.
};

}  // namespace waggle
