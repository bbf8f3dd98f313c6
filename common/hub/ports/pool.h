#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"

// The port to the pool, which gives work to processes that outlive experiments. Over gRPC in common/hub/pool_client.h.

namespace waggle {

// The kinds of pool processes. A gradient worker is a primary or a reducer. Numbered as v1::WorkerKind.
enum class WorkerKind { kActor = 1, kLearner, kReplayServer, kEvaluator, kGradient };

// "actor", "learner", "replay-server", "evaluator", "gradient-worker".
const char* WorkerKindName(WorkerKind kind);

// True if such a process can have a seat of this role.
bool CanWorkAs(WorkerKind kind, Role role);

struct WorkOrder {
  uint64_t number = 0;  // Unique at a hub.
  std::string experiment_id;
  Role role = Role::kActor;  // kLearner is a gradient worker's primary.
  int64_t index = 0;
  // For the experiment's files, if the process keeps any.
  std::string output_folder;

  friend bool operator==(const WorkOrder& a, const WorkOrder& b) {
    return a.number == b.number && a.experiment_id == b.experiment_id && a.role == b.role && a.index == b.index &&
           a.output_folder == b.output_folder;
  }
  friend bool operator!=(const WorkOrder& a, const WorkOrder& b) { return !(a == b); }
};

// Limits on what a process may say of itself.
inline constexpr int64_t kMaxPoolCapacity = 1'000;  // Orders at a time; each takes a thread.
inline constexpr int64_t kMaxPoolIndex = 1'000'000;
inline constexpr size_t kMaxPoolNames = 1'000;  // Devices, or environments.
inline constexpr size_t kMaxPoolKept = 10'000;  // Experiments whose data it keeps.

// The largest magnitude of an experiment's priority.
inline constexpr int64_t kMaxExperimentPriority = 1'000'000;

// The resources of a pool process.
struct WorkerResources {
  int64_t cores = 0;
  int64_t memory_bytes = 0;
  std::vector<std::string> devices;       // "cuda:0", …; every process has "cpu".
  std::vector<std::string> environments;  // Names from the environment registry, if it steps environments.
};

// The unique name of a pool process in the experiment of an order.
std::string RunWorkerId(const std::string& worker_id, uint64_t order_number);

// Carries out the orders of a process.
class PoolWork {
 public:
  virtual ~PoolWork() = default;

  // Carries out an order in its own thread, until the experiment is over or soon after `stop`. The hub is told the
  // result. After an error it may give the order out again, also to this process.
  virtual absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) = 0;

  // The experiments whose data it keeps. Called before each call to the hub, which waits for it and for Discard.
  virtual std::vector<std::string> Kept() { return {}; }
  // Drops an experiment's data. It is over and has no order here. Called again while Kept() names it.
  virtual void Discard(const std::string& /*experiment_id*/) {}
};

}  // namespace waggle
