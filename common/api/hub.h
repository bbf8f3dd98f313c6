#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/model.h"
#include "common/base/stop_token.h"
#include "common/config/schedule.h"
#include "common/spec/environment_spec.h"

// The port to the hub: how a process learns what to do and says how it fares. Over gRPC in
// common/hub_client/hub_client.h.

namespace waggle {

enum class Role { kActor, kLearner, kReplayServer, kParamServer, kEvaluator, kReducer };

// At most so many bytes of why a worker gives up are sent and kept: the hub stores it in a file of bounded size.
constexpr size_t kMaxFailureBytes = 4096;

// "actor", "learner", "replay-server", "param-server", "evaluator", "reducer".
const char* RoleName(Role role);

enum class RunState {
  kNoExperiment,
  kRunning,
  kFinishing,  // A limit was reached; the last weights are evaluated before the run ends.
  kSolved,     // The target return was reached.
  kLimit,      // A limit on steps or time was reached first.
  kFailed,
  kQueued,   // It has not begun.
  kStopped,  // A user ended it.
};

// "no experiment", "running", "finishing", "solved", "limit", "failed", "queued", "stopped".
const char* RunStateName(RunState state);

// Whether the run is over, so that workers should finish.
inline bool IsOver(RunState state) {
  return state == RunState::kSolved || state == RunState::kLimit || state == RunState::kFailed ||
         state == RunState::kStopped;
}

// Whether nobody is to act or train any more.
inline bool IsTrainingOver(RunState state) {
  return state == RunState::kFinishing || IsOver(state);
}

// A greedy evaluation of one version of the weights.
struct Evaluation {
  ModelVersion version;
  int64_t episodes = 0;
  double mean_return = 0;
  double min_return = 0;
  double max_return = 0;
  double standard_deviation = 0;  // Of the episodes' returns, with n - 1; 0 for a single one.
  double mean_length = 0;         // Steps an episode.
  uint64_t env_steps = 0;         // The run's when this version was published, as its weights say.
};

// What a run has to show: the evaluation of the weights that are kept as its best.
struct RunResult {
  Evaluation evaluation;
  bool confirmed = false;  // The target was reached twice, and this is the second time.
};

// Whose turn it is in a run in lock-step (experiment.deterministic), where one process at a time does something.
struct Turn {
  uint64_t number = 0;  // Later turns have larger ones; the first is 1.
  Role role = Role::kLearner;
  int64_t items = 0;  // That all actors have written by now, all tables together.
  // Of several actors, which one's turn it is; absent where it is no actor's.
  std::optional<int64_t> actor = {};
};

// A learner's place among those that train together, from one to the next change of who they are.
struct GroupSeat {
  uint64_t epoch = 0;  // Larger than that of every group and learner before; what the first learner publishes under.
  int64_t rank = 0;    // From 0 on, in the order of the learners' indices.
  int64_t size = 1;

  friend bool operator==(const GroupSeat& a, const GroupSeat& b) {
    return a.epoch == b.epoch && a.rank == b.rank && a.size == b.size;
  }
};

// What the hub wants of a worker and what it has to know.
struct Assignment {
  RunState run_state = RunState::kNoExperiment;
  std::string experiment_yaml;                 // Complete; empty where there is none.
  std::optional<EnvironmentSpec> environment;  // Known once the first actor has reported it.
  // HOST:PORT each, by their indices: where it is or was last; empty where none has joined.
  std::vector<std::string> replay_servers;
  std::vector<std::string> learners;  // Empty also for one that does not serve.
  std::vector<std::string> reducers;
  std::optional<ModelVersion> model_version;  // Of the newest weights.
  int64_t actors = 1;                         // That there are now.
  absl::Time said_at;                         // By the hub's clock: of two assignments the later one holds.
  std::optional<RunResult> result;            // Once the run is over.
  Progress progress;                          // How far the run is, but for the learner's steps.
  std::optional<Turn> turn;                   // Absent where the run is not in lock-step.
  std::optional<GroupSeat> group;             // Of a learner, in a run with several, once they are a group.
  // This worker's own, fixed when it joined.
  std::string worker_id;
  int64_t index = 0;   // Which one of its role it is.
  uint64_t epoch = 0;  // Learners: later than every learner before.
  // Actors and evaluators: how many of its role had its index before it in this run.
  uint64_t life = 0;
  int64_t earlier_env_steps = 0;  // Of the run when this worker joined, over all actors.
};

// The addresses of the first `servers` replay servers, an empty one for each that has not joined.
std::vector<std::string> ReplayServersOf(const Assignment& assignment, int64_t servers);

// What an actor says when it asks for environment steps.
struct StepRequest {
  int64_t used = 0;     // Taken in all its life.
  int64_t allowed = 0;  // What it was told last; 0 before that.
  int64_t block = 1;    // Handed over together: it is given no fewer where as many are left.
  double rate = 0;      // A second, since its last request.
};

// The hub takes steps that it gave to an actor back when so much time has passed since the actor asked last. The actor,
// which counts from before it asks, uses them for a shorter time, so that no step is ever given to two.
constexpr absl::Duration kStepLeaseLife = absl::Seconds(10);
constexpr absl::Duration kStepLeaseUse = absl::Seconds(5);

// An experiment, and the hub where it runs.
struct RunAddress {
  // NOLINTNEXTLINE(google-explicit-constructor): of a hub with one experiment, whose address says all.
  RunAddress(std::string hub_address, std::string experiment = "")
      : hub(std::move(hub_address)), experiment_id(std::move(experiment)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  RunAddress(const char* hub_address) : hub(hub_address) {}

  std::string hub;  // HOST:PORT.
  std::string experiment_id;
};

// One worker's link to the hub, kept up by heartbeats in the background; rejoins by itself after the hub was away. News
// that cannot wait for a heartbeat comes at once. Thread-safe.
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
  // This learner has stopped training; the run may end when these last weights of it are evaluated.
  virtual void ReportFinalVersion(const ModelVersion& version) = 0;
  // This actor has taken its first environment step. What an actor has done is told soon after it then: after pauses
  // that grow with its age to those of other heartbeats, so that a young run's steps and time are nearly up to date.
  virtual void ReportFirstStep() = 0;
  // This worker's turn of this number is over: what its metrics say by now, and what else it has reported, is known to
  // the worker that has the next turn.
  virtual void ReportTurnDone(uint64_t number) = 0;
  // This learner could not reach the others of the group of this epoch: the hub forms another one.
  virtual void ReportBrokenGroup(uint64_t epoch) = 0;
  // Why this worker gives up: people see it beside the worker, and a learner that is the last one fails the run with
  // it. Cut after kMaxFailureBytes.
  virtual void ReportFailure(const absl::Status& failure) = 0;

  // For actors of a run with stop.max_env_steps: how many environment steps this one may take in all its life, for
  // kStepLeaseUse. Blocks for one call. UNAVAILABLE while the hub is away or this worker has to join again;
  // CANCELLED after a stop; any other error is final.
  virtual absl::StatusOr<int64_t> TakeSteps(const StepRequest& request, const StopToken& stop) = 0;

  // A token that is stopped when the run is over, when the hub refuses this worker, or when the process is told to
  // stop.
  virtual const StopToken& run_over() const = 0;
  // The same for those who act and train: stopped as soon as the run is finishing.
  virtual const StopToken& training_over() const = 0;

  // Sends what is pending and says goodbye, within `timeout`.
  virtual void Leave(absl::Duration timeout) = 0;
};

// What a worker's process ends with, where its work ended with `status`: OK for a peaceful end, the end of training and
// a stop; the hub's refusal, which stops a worker like the end of a run does; otherwise `status`, which is reported to
// the hub. Logs how the run ended where it has.
absl::Status EndOfWork(const absl::Status& status, HubLink* hub);

}  // namespace waggle
