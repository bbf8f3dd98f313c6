#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/hub.h"
#include "common/base/shared_value.h"

namespace waggle {

// How a worker introduces itself.
struct WorkerIntroduction {
  std::string worker_id;  // Unique, and the same for as long as the worker lives.
  Role role = Role::kActor;
  std::string address;  // HOST:PORT where it serves; empty where it does not.
  int64_t process_id = 0;
  std::string host;
  // The index that whoever started it named for it; absent: any will do.
  std::optional<int64_t> own_index;
  // Of a worker that joins again: what it was given before.
  std::optional<int64_t> index;
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
  absl::Duration silent_after = absl::Seconds(10);  // A worker that is silent for longer is not alive.
  absl::Duration current_for = absl::Seconds(2);    // Two heartbeats: a worker's figures are old after that.
  // A worker that is silent for longer has lost its own index to one on its host that was started with the same: a few
  // heartbeats, as whoever starts a killed process again does so at once.
  absl::Duration replaced_after = absl::Seconds(3);
  int64_t max_workers = 10'000;  // Alive at a time; also, an index is below it.
  int64_t max_gone = 100;        // Kept to be shown after they went; the oldest are forgotten.
};

// Who works here: seats, heartbeats, rates. Pure logic over times that it is given, which never go back; not
// thread-safe.
class WorkerTable {
 public:
  explicit WorkerTable(const WorkerTableOptions& options) : options_(options) {}

  // Seats a worker and returns its index: its own, else the one it had before if that is free, else the lowest free one
  // of its role. Seats of workers that are gone or silent are free. A worker at the same host and address as another
  // one replaces it, as only one process can have a port. INVALID_ARGUMENT for a bad introduction; RESOURCE_EXHAUSTED
  // when full.
  //
  // A worker keeps its index while it lives, also from one that was named it: that one gets UNAVAILABLE, to ask again,
  // until the first has sent a heartbeat, which proves it, and ALREADY_EXISTS then. If it sends none (replaced_after on
  // the same host, else silent_after) it is replaced, and should it live all the same, one that was named the index too
  // may not come back: so never do two workers with one index take turns.
  absl::StatusOr<int64_t> Join(const WorkerIntroduction& introduction, uint64_t epoch, absl::Time now);

  // NOT_FOUND for a worker that has to join (again), also because its seat was given away while it was silent;
  // ALREADY_EXISTS for one that another with the same own index has replaced; INVALID_ARGUMENT for figures that cannot
  // be: too many, badly named, counters that are negative or above kMaxCounter.
  absl::Status Heartbeat(const std::string& worker_id, WorkerFigures figures, absl::Time now);

  // OK for a seated worker; what Heartbeat says of others.
  absl::Status CheckSeated(const std::string& worker_id) const;

  // A seated worker said why it gives up.
  void SetFailure(const std::string& worker_id, const std::string& failure);

  // Unknown workers are ignored: their goodbye has been said before.
  void Leave(const std::string& worker_id, absl::Time now);

  // One that has left may not come back: it gets ALREADY_EXISTS with these words.
  void Bar(const std::string& worker_id, const std::string& why);

  // Sets the epoch of a seated worker.
  void SetEpoch(const std::string& worker_id, uint64_t epoch);
  // Sets the life of a seated worker.
  void SetLife(const std::string& worker_id, uint64_t life);

  // Changes where a seated worker serves.
  void SetAddress(const std::string& worker_id, const std::string& address);

  // Whether the worker is seated, or is gone so short a time that it is still shown.
  bool Knows(const std::string& worker_id) const;

  // The worker if it is seated; null otherwise. Valid until the next change.
  const WorkerView* Find(const std::string& worker_id) const;

  // Those alive, in the order of their indices.
  std::vector<const WorkerView*> Alive(Role role, absl::Time now) const;

  // Those that have a seat, silent or not, in the order of their indices; without what depends on the time.
  std::vector<WorkerView> Seated(Role role) const;

  // Where those of a role serve, by their indices: of one that is gone where it last did, unless another one serves
  // there now; empty where that is not known.
  std::vector<std::string> Addresses(Role role) const;

  // How many have a seat, silent or not.
  int64_t CountSeated() const { return static_cast<int64_t>(seated_.size()); }

  // How many are alive. Cheap however many there are: every answer to a heartbeat tells it.
  int64_t CountAlive(Role role, absl::Time now);

  // Everyone, those gone included, by role and index.
  std::vector<WorkerView> Overview(absl::Time now) const;

 private:
  struct Worker {
    WorkerView view;
    absl::Time last_heartbeat;
    std::deque<SharedValue<WorkerFigures>> samples;  // The oldest first.
    // What follows from them, once somebody has asked.
    mutable std::optional<SharedValue<std::map<std::string, double>>> rates;
    std::string contested_by;       // A worker that asked for this one's own index; empty: none.
    bool heard_since_then = false;  // A heartbeat came after it had asked.
    bool heard = true;              // Is in its role's `heard`.
    std::list<Worker*>::iterator place;
    std::string replaced;  // Of one that is gone: why it must not come back; empty: it may.
  };

  // OK where `holder` may be put off its seat for `introduction`, whose own index that is.
  absl::Status Contest(const WorkerIntroduction& introduction, Worker* holder, absl::Time now) const;
  // ALREADY_EXISTS for a worker that was replaced.
  absl::Status CheckNotReplaced(const std::string& worker_id) const;
  // The seated ones of one role.
  struct RoleSeats {
    std::map<int64_t, Worker*> by_index;
    // The one heard from the longest ago first. Whoever is found to be silent leaves, until it is heard again.
    std::list<Worker*> heard;
  };
  // A seated worker was heard from now.
  void Hear(Worker* worker, absl::Time now);
  // Before the worker leaves seated_.
  void RemoveFromRole(Worker* worker);
  bool IsSilent(const Worker& worker, absl::Time now) const;
  // Ends a seat; the worker is only shown from now on.
  void Unseat(const std::string& worker_id);
  static void AddSample(Worker* worker);
  static const SharedValue<std::map<std::string, double>>& Rates(const Worker& worker);

  const WorkerTableOptions options_;
  std::map<std::string, Worker> seated_;
  std::map<Role, RoleSeats> roles_;  // What is in seated_.
  std::deque<Worker> gone_;          // Oldest first.
};

}  // namespace waggle
