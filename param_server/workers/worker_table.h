#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/hub.h"

namespace waggle {

// How a worker introduces itself.
struct WorkerIntroduction {
  std::string worker_id;  // Unique, and the same for as long as the worker lives.
  Role role = Role::kActor;
  std::string address;  // HOST:PORT where it serves; empty where it does not.
  int64_t process_id = 0;
  std::string host;
  // Of a worker that joins again: what it was given before.
  std::optional<int64_t> index;
  uint64_t epoch = 0;  // 0: none.
};

// What a worker says of itself with a heartbeat.
struct WorkerFigures {
  std::string activity;
  std::map<std::string, double> counters;
  std::map<std::string, double> gauges;
  absl::Duration taken_at;  // On the worker's monotonic clock.
};

// A worker, for people.
struct WorkerView {
  WorkerIntroduction introduction;
  int64_t index = 0;
  uint64_t epoch = 0;
  absl::Time joined;
  absl::Duration silent;  // Since its last heartbeat.
  bool alive = false;
  WorkerFigures figures;
  std::map<std::string, double> rates;  // Of each counter, a second, over the last heartbeats; empty where not alive.
};

struct WorkerTableOptions {
  absl::Duration silent_after = absl::Seconds(10);  // A worker that is silent for longer is not alive.
  int64_t max_workers = 10'000;                     // Alive at a time.
  int64_t max_gone = 100;                           // Kept to be shown after they went; the oldest are forgotten.
};

// Who works here: seats, heartbeats, rates. Pure logic over times that it is given, which never go back; not
// thread-safe.
class WorkerTable {
 public:
  explicit WorkerTable(const WorkerTableOptions& options) : options_(options) {}

  // Seats a worker and returns its index: the one it had before if that is free, else the lowest free one of its role.
  // Seats of workers that are gone or silent are free. A worker at the same host and address as another one replaces
  // it, as only one process can have a port. INVALID_ARGUMENT for a bad introduction; RESOURCE_EXHAUSTED when full.
  absl::StatusOr<int64_t> Join(const WorkerIntroduction& introduction, uint64_t epoch, absl::Time now);

  // NOT_FOUND for a worker that has to join (again), also because its seat was given away while it was silent;
  // INVALID_ARGUMENT for figures that cannot be: too many, badly named, counters that are negative or not finite.
  absl::Status Heartbeat(const std::string& worker_id, WorkerFigures figures, absl::Time now);

  // Unknown workers are ignored: their goodbye has been said before.
  void Leave(const std::string& worker_id, absl::Time now);

  // Changes where a seated worker serves.
  void SetAddress(const std::string& worker_id, const std::string& address);

  // The worker if it is seated; null otherwise. Valid until the next change.
  const WorkerView* Find(const std::string& worker_id) const;

  // Those alive, in the order of their indices.
  std::vector<const WorkerView*> Alive(Role role, absl::Time now) const;

  // Everyone, those gone included, by role and index.
  std::vector<WorkerView> Overview(absl::Time now) const;

 private:
  struct Sample {
    absl::Duration taken_at;
    std::map<std::string, double> counters;
  };
  struct Worker {
    WorkerView view;
    absl::Time last_heartbeat;
    std::deque<Sample> samples;
  };

  bool IsSilent(const Worker& worker, absl::Time now) const;
  // Ends a seat; the worker is only shown from now on.
  void Unseat(const std::string& worker_id);
  static void AddSample(Worker* worker);
  static std::map<std::string, double> Rates(const Worker& worker);

  const WorkerTableOptions options_;
  std::map<std::string, Worker> seated_;
  std::deque<Worker> gone_;  // Oldest first.
};

}  // namespace waggle
