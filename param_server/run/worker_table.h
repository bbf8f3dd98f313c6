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

// A worker of a run, as the pool describes it. Its address is known once it has joined.
struct WorkerIntroduction {
  std::string worker_id;  // Unique: it contains the number of its order, see RunWorkerId.
  Role role = Role::kActor;
  int64_t process_id = 0;
  std::string host;
  std::string address;  // HOST:PORT where it serves; empty if it does not serve.
};

// A worker's request to take its seat.
struct WorkerArrival {
  std::string worker_id;
  std::string address;
  // A worker that joins again sends the numbers that it was given before.
  uint64_t epoch = 0;            // 0: none.
  std::optional<uint64_t> life;  // Of actors and evaluators.
};

// What a worker says of itself with a heartbeat.
struct WorkerFigures {
  std::string activity;
  std::map<std::string, double> counters;
  std::map<std::string, double> gauges;
  absl::Duration taken_at;  // On the worker's monotonic clock.
  std::string last_error;   // That it got over; empty: there was none.
};

// A worker, for people.
struct WorkerView {
  WorkerIntroduction introduction;
  int64_t index = 0;
  uint64_t epoch = 0;
  std::optional<uint64_t> life;  // Once an actor or evaluator has one.
  absl::Time joined;
  absl::Duration silent;  // Since its last heartbeat.
  bool alive = false;
  bool gone = false;     // It left, or another one has its seat.
  bool current = false;  // Its figures are of now: a heartbeat came a moment ago, even if it has left since.
  SharedValue<WorkerFigures> figures;
  std::string failure;  // Why it gives up; empty otherwise.
  // Of each counter, a second, over the last heartbeats since the first that told of an event; without those of which
  // that is not known yet. Empty if it is not current, or gone.
  SharedValue<std::map<std::string, double>> rates;
};

struct WorkerTableOptions {
  absl::Duration current_for = absl::Seconds(2);  // Two heartbeats: a worker's figures are old after that.
  int64_t max_gone = 100;                         // Kept to be shown after they went; the oldest are forgotten.
};

// The seats of one run, their workers, and the figures of each worker. The pool gives the seats out and finds lost
// workers (see WorkerPool): only workers with an order are here. Pure logic over times that it is given, which never go
// back; not thread-safe.
class WorkerTable {
 public:
  explicit WorkerTable(const WorkerTableOptions& options) : options_(options) {}

  // The pool has given the worker a seat: it may join. The worker that had the seat before leaves.
  void Order(const WorkerIntroduction& worker, int64_t index, absl::Time now);

  // The worker, if it may take its seat. UNAVAILABLE for a worker without an order: after a restart the pool must hear
  // from it first. ALREADY_EXISTS for a worker that was dismissed. INVALID_ARGUMENT for a wrong address or life. Valid
  // until the next change.
  absl::StatusOr<const WorkerView*> CheckArrival(const WorkerArrival& arrival) const;

  // Seats a worker under the numbers of its request, also if it is seated already. Errors as CheckArrival's.
  absl::StatusOr<const WorkerView*> Join(const WorkerArrival& arrival, absl::Time now);

  // NOT_FOUND for a worker that has to join (again); ALREADY_EXISTS for one that was dismissed; INVALID_ARGUMENT for
  // figures that cannot be: too many, badly named, counters that are negative or above kMaxCounter.
  absl::Status Heartbeat(const std::string& worker_id, WorkerFigures figures, absl::Time now);

  // OK for a seated worker; what Heartbeat says of others.
  absl::Status CheckSeated(const std::string& worker_id) const;

  // A seated worker said why it gives up.
  void SetFailure(const std::string& worker_id, const std::string& failure);

  // Ends the worker's order and frees its seat. Unknown workers are ignored: they have left before. `barred`: the
  // message for a dismissed worker that comes back; empty if it was not dismissed.
  void Leave(const std::string& worker_id, absl::Time now, const std::string& barred = "");
  // The pool does not hear the worker, and keeps its seat for it.
  void SetAway(const std::string& worker_id);

  // Sets the epoch of a seated worker.
  void SetEpoch(const std::string& worker_id, uint64_t epoch);

  // True if the worker has an order, or left so recently that it is still shown.
  bool Knows(const std::string& worker_id) const;

  // The worker if it is seated; null otherwise. Valid until the next change.
  const WorkerView* Find(const std::string& worker_id) const;

  // The role of a worker that has an order.
  std::optional<Role> OrderedRole(const std::string& worker_id) const;
  // The worker that has an order for a seat; empty: it is free.
  std::string HolderOf(Role role, int64_t index) const;

  // Those alive, in the order of their indices.
  std::vector<const WorkerView*> Alive(Role role) const;

  // Where those of a role serve, by their indices: of one that is gone where it last did, unless another one serves
  // there now; empty where that is not known.
  std::vector<std::string> Addresses(Role role) const;

  // How many are seated, away or not.
  int64_t CountSeated() const { return seated_; }

  // How many are alive. Cheap however many there are: every answer to a heartbeat tells it.
  int64_t CountAlive(Role role) const;

  // Everyone, those gone included, by role and index.
  std::vector<WorkerView> Overview(absl::Time now) const;

 private:
  struct Worker {
    WorkerView view;
    bool seated = false;  // It has joined; otherwise it has only its order.
    bool away = false;
    absl::Time last_heartbeat;
    std::deque<SharedValue<WorkerFigures>> samples;  // The oldest first.
    // What follows from them, once somebody has asked.
    mutable std::optional<SharedValue<std::map<std::string, double>>> rates;
    std::string barred;  // Why a dismissed worker must not come back; empty if it was not dismissed.

    bool IsAlive() const { return seated && !away; }
  };
  using Seats = std::map<std::pair<Role, int64_t>, Worker>;  // By role and index.

  // ALREADY_EXISTS for a worker that was dismissed.
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
