#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/model.h"
#include "common/base/stop_token.h"
#include "common/rl/environment_spec.h"

// The port to the hub: how a process learns what to do and says how it fares. Over gRPC in common/clients/hub_client.h.

namespace waggle {

enum class Role { kActor, kLearner, kReplayServer, kParamServer, kEvaluator };

// At most so many bytes of why a worker gives up are sent and kept: the hub stores it in a file of bounded size.
constexpr size_t kMaxFailureBytes = 4096;

// "actor", "learner", "replay-server", "param-server", "evaluator".
const char* RoleName(Role role);

enum class RunState {
  kNoExperiment,
  kRunning,
  kSolved,  // The target return was reached.
  kLimit,   // A limit on steps or time was reached first.
  kFailed,
};

// "no experiment", "running", "solved", "limit", "failed".
const char* RunStateName(RunState state);

// Whether the run is over, so that workers should finish.
inline bool IsOver(RunState state) {
  return state == RunState::kSolved || state == RunState::kLimit || state == RunState::kFailed;
}

// What the hub wants of a worker and what it has to know.
struct Assignment {
  RunState run_state = RunState::kNoExperiment;
  std::string experiment_yaml;                 // Complete; empty where there is none.
  std::optional<EnvironmentSpec> environment;  // Known once the first actor has reported it.
  // HOST:PORT each, by their indices: where it is or was last; empty where none has joined.
  std::vector<std::string> replay_servers;
  std::optional<ModelVersion> model_version;  // Of the newest weights.
  int64_t actors = 1;                         // That there are now.
  // This worker's own, fixed when it joined.
  int64_t index = 0;   // Which one of its role it is.
  uint64_t epoch = 0;  // Learners: later than every learner before.
};

// The addresses of the first `servers` replay servers; empty until all of them have joined.
std::vector<std::string> ReplayServersOf(const Assignment& assignment, int64_t servers);

// A greedy evaluation of one version of the weights.
struct Evaluation {
  ModelVersion version;
  int64_t episodes = 0;
  double mean_return = 0;
  double min_return = 0;
  double max_return = 0;
};

// One worker's link to the hub, kept up by heartbeats in the background; rejoins by itself after the hub was away.
// Thread-safe.
class HubLink {
 public:
  virtual ~HubLink() = default;

  // What the hub said last.
  virtual Assignment assignment() const = 0;

  // Waits until `condition` holds of the assignment and returns it. CANCELLED after a stop, or when the run is over
  // (IsOver) before it holds; any other error means that the hub refused this worker, and is final.
  virtual absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                               const StopToken& stop) = 0;

  // Reports; each is sent with the next heartbeat, which is hurried.
  virtual void ReportEnvironment(const EnvironmentSpec& environment) = 0;
  virtual void ReportEvaluation(const Evaluation& evaluation) = 0;
  // Why this worker gives up: people see it beside the worker, and a learner that is the last one fails the run with
  // it. Cut after kMaxFailureBytes.
  virtual void ReportFailure(const absl::Status& failure) = 0;

  // A token that is stopped when the run is over, when the hub refuses this worker, or when the process is told to
  // stop.
  virtual const StopToken& run_over() const = 0;

  // Sends what is pending and says goodbye, within `timeout`.
  virtual void Leave(absl::Duration timeout) = 0;
};

// What a worker's process ends with, where its work ended with `status`: OK for a peaceful end, the end of the run and
// a stop; the hub's refusal, which stops a worker like the end of a run does; otherwise `status`, which is reported to
// the hub. Logs how the run ended where it has.
absl::Status EndOfWork(const absl::Status& status, HubLink* hub);

}  // namespace waggle
