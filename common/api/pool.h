#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/api/hub.h"
#include "common/base/stop_token.h"

// The port to the pool: how a process that outlives experiments is given work. Over gRPC in
// common/hub_client/pool_client.h.

namespace waggle {

// What a process of the pool can work as. A gradient worker is the primary of a gradient server, or one of its
// reducers.
enum class WorkerKind { kActor, kLearner, kReplayServer, kEvaluator, kGradient };

// "actor", "learner", "replay-server", "evaluator", "gradient-worker".
const char* WorkerKindName(WorkerKind kind);

// Whether such a process can have a seat of this role.
bool CanWorkAs(WorkerKind kind, Role role);

// A piece of work: a seat in an experiment.
struct WorkOrder {
  uint64_t number = 0;  // No two orders of a hub have the same one.
  std::string experiment_id;
  Role role = Role::kActor;  // kLearner for a gradient worker is the primary.
  int64_t index = 0;
  // Where the experiment's files go, for those that keep any.
  std::string output_folder;

  friend bool operator==(const WorkOrder& a, const WorkOrder& b) {
    return a.number == b.number && a.experiment_id == b.experiment_id && a.role == b.role && a.index == b.index &&
           a.output_folder == b.output_folder;
  }
  friend bool operator!=(const WorkOrder& a, const WorkOrder& b) { return !(a == b); }
};

// What a process may say of itself, at most.
inline constexpr int64_t kMaxPoolCapacity = 1'000;  // Orders at a time: each takes a thread.
inline constexpr int64_t kMaxPoolIndex = 1'000'000;
inline constexpr size_t kMaxPoolNames = 1'000;  // Devices, or environments.
inline constexpr size_t kMaxPoolKept = 10'000;  // Experiments of which it keeps anything.

// Of an experiment's priority, which is 0 unless its submission says otherwise, the largest magnitude.
inline constexpr int64_t kMaxExperimentPriority = 1'000'000;

// What a process of the pool brings.
struct WorkerResources {
  int64_t cores = 0;
  int64_t memory_bytes = 0;
  std::vector<std::string> devices;       // "cuda:0", …; every process has "cpu".
  std::vector<std::string> environments;  // Names from the environment registry, of those that step environments.
};

// Under which name a process of the pool takes part in the experiment of an order: nobody else ever has it.
std::string RunWorkerId(const std::string& worker_id, uint64_t order_number);

// What a process does with its orders.
class PoolWork {
 public:
  virtual ~PoolWork() = default;

  // Does an order, in a thread of its own, until the experiment is over, or soon after `stop`. What it returns is told
  // to the hub: an error is why this worker gives up, and the hub may give it, or another one, the order again.
  virtual absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) = 0;

  // The experiments of which this process keeps anything. Asked for before each call to the hub, which waits for it, as
  // for Discard.
  virtual std::vector<std::string> Kept() { return {}; }
  // Drops what it keeps of one, which is over and of which it has no order that goes on. Called again while Kept()
  // names it.
  virtual void Discard(const std::string& /*experiment_id*/) {}
};

}  // namespace waggle
