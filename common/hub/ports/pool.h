#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"

// The port to the pool, which gives work to processes that outlive experiments. Over gRPC in
// common/hub/pool_client.h.

namespace waggle {

// The kinds of pool processes. A gradient worker is the primary of a gradient server, or one of its reducers. Numbered
// as v1::WorkerKind.
enum class WorkerKind { kActor = 1, kLearner, kReplayServer, kEvaluator, kGradient };

// "actor", "learner", "replay-server", "evaluator", "gradient-worker".
const char* WorkerKindName(WorkerKind kind);

// True if such a process can have a seat of this role.
bool CanWorkAs(WorkerKind kind, Role role);

// A piece of work: a seat in an experiment.
struct WorkOrder {
  uint64_t number = 0;  // No two orders of a hub have the same one.
  std::string experiment_id;
  Role role = Role::kActor;  // kLearner for a gradient worker is the primary.
  int64_t index = 0;
  // The folder for the experiment's files, if the process keeps any.
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

// The largest magnitude of an experiment's priority, which is 0 unless its submission says otherwise.
inline constexpr int64_t kMaxExperimentPriority = 1'000'000;

// The resources of a pool process.
struct WorkerResources {
  int64_t cores = 0;
  int64_t memory_bytes = 0;
  std::vector<std::string> devices;       // "cuda:0", …; every process has "cpu".
  std::vector<std::string> environments;  // Names from the environment registry, if it steps environments.
};

// The name under which a pool process takes part in the experiment of an order. No other process ever has it.
std::string RunWorkerId(const std::string& worker_id, uint64_t order_number);

// Carries out the orders of a process.
class PoolWork {
 public:
  virtual ~PoolWork() = default;

  // Carries out an order in a thread of its own, until the experiment is over, or soon after `stop`. The hub is told
  // the result: an error is why this worker gives up, and the hub may give the order to it or to another one again.
  virtual absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) = 0;

  // The experiments whose data this process keeps. Called before each call to the hub, which waits for it and for
  // Discard.
  virtual std::vector<std::string> Kept() { return {}; }
  // Drops the data of an experiment that is over and has no running order here. Called again while Kept() names it.
  virtual void Discard(const std::string& /*experiment_id*/) {}
};

}  // namespace waggle
