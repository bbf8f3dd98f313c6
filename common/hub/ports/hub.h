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
#include "common/base/threads/stop_token.h"
#include "common/config/schedule.h"
#include "common/config/spec/environment_spec.h"
#include "common/hub/ports/model.h"

// The port to the hub: a process gets its assignment and reports its state. Over gRPC in
// common/hub/hub_client.h.

namespace waggle {

// Numbered as v1::Role.
enum class Role { kActor = 1, kLearner, kReplayServer, kParamServer, kEvaluator, kReducer };

// The most bytes of a worker's failure that are sent and kept: the hub stores it in a file of bounded size.
constexpr size_t kMaxFailureBytes = 4096;

// "actor", "learner", "replay-server", "param-server", "evaluator", "reducer".
const char* RoleName(Role role);

// Numbered as v1::RunState.
enum class RunState {
  kNoExperiment = 1,
  kRunning,
  kSolved,  // The target return was reached.
  kLimit,   // A limit on steps or time was reached first.
  kFailed,
  kFinishing,  // A limit was reached; the last weights are evaluated before the run ends.
  kQueued,     // It has not begun.
  kStopped,    // A user ended it.
};

// "no experiment", "running", "finishing", "solved", "limit", "failed", "queued", "stopped".
const char* RunStateName(RunState state);

// True if the run is over, so that workers should finish.
inline bool IsOver(RunState state) {
  return state == RunState::kSolved || state == RunState::kLimit || state == RunState::kFailed ||
         state == RunState::kStopped;
}

// True if acting and training must stop.
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
  double standard_deviation = 0;  // The returns' sample standard deviation (n - 1); 0 for one episode.
  double mean_length = 0;         // Steps an episode.
  uint64_t env_steps = 0;         // The run's steps when this version was published, as its weights say.
};

// The result of a run: the evaluation of the weights that are kept as its best.
struct RunResult {
  Evaluation evaluation;
  bool confirmed = false;  // The target was reached a second time, by this evaluation.
};

// A turn in a run in lock-step (experiment.deterministic), in which one process at a time works.
struct Turn {
  uint64_t number = 0;  // Later turns have larger ones; the first is 1.
  Role role = Role::kLearner;
  int64_t items = 0;  // Written by all actors up to now, all tables together.
  // The actor whose turn it is, if there are several; absent for other roles.
  std::optional<int64_t> actor = {};
};

// A learner's place in a group that trains together. It holds until the group's members change.
struct GroupSeat {
  uint64_t epoch = 0;  // Larger than that of every earlier group and learner. The first learner publishes under it.
  int64_t rank = 0;    // From 0, in the order of the learners' indices.
  int64_t size = 1;

  friend bool operator==(const GroupSeat& a, const GroupSeat& b) {
    return a.epoch == b.epoch && a.rank == b.rank && a.size == b.size;
  }
};

// The hub's orders to a worker, with the facts that it needs.
struct Assignment {
  RunState run_state = RunState::kNoExperiment;
  std::string experiment_yaml;                 // Complete; empty if there is none.
  std::optional<EnvironmentSpec> environment;  // Known once the first actor has reported it.
  // HOST:PORT each, by their indices: the last known address; empty if none has joined.
  std::vector<std::string> replay_servers;
  std::vector<std::string> learners;  // Empty also for a learner that does not serve.
  std::vector<std::string> reducers;
  std::optional<ModelVersion> model_version;  // The newest weights'.
  int64_t actors = 1;                         // The present number.
  absl::Time said_at;                         // By the hub's clock; the later of two assignments holds.
  std::optional<RunResult> result;            // Set once the run is over.
  Progress progress;                          // The run's, without the learner's steps.
  std::optional<Turn> turn;                   // Absent if the run is not in lock-step.
  std::optional<GroupSeat> group;             // For a learner of several, once they are a group.
  // This worker's own, fixed when it joined.
  std::string worker_id;
  int64_t index = 0;   // Its index among the workers of its role.
  uint64_t epoch = 0;  // Learners: larger than every earlier learner's.
  // Actors and evaluators: the number of earlier workers of this role and index in this run.
  uint64_t life = 0;
  int64_t earlier_env_steps = 0;  // The run's, over all actors, when this worker joined.
};

// The addresses of the first `servers` replay servers, an empty one for each that has not joined.
std::vector<std::string> ReplayServersOf(const Assignment& assignment, int64_t servers);

// An actor's request for environment steps.
struct StepRequest {
  int64_t used = 0;     // Steps taken in its whole life.
  int64_t allowed = 0;  // The last answer; 0 before the first.
  int64_t block = 1;    // Steps handed over together: the hub gives no fewer if so many are left.
  double rate = 0;      // Steps a second since its last request.
};

// The hub takes an actor's steps back when this much time has passed since the actor last asked. The actor counts from
// before it asks and uses them for a shorter time, so that no step is given to two actors.
constexpr absl::Duration kStepLeaseLife = absl::Seconds(10);
constexpr absl::Duration kStepLeaseUse = absl::Seconds(5);

// An experiment, and the hub that runs it.
struct RunAddress {
  // NOLINTNEXTLINE(google-explicit-constructor): the address is enough for a hub with one experiment.
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

  // The hub's last assignment.
  virtual Assignment assignment() const = 0;

  // Waits until `condition` is true for the assignment, and returns it. CANCELLED after a stop, or when the run is over
  // (IsOver) before that; any other error means that the hub refused this worker, and is final.
  virtual absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                               const StopToken& stop) = 0;

  // Reports; each is sent with the next heartbeat, and hurries it.
  virtual void ReportEnvironment(const EnvironmentSpec& environment) = 0;
  virtual void ReportEvaluation(const Evaluation& evaluation) = 0;
  // This learner has stopped training. The run may end once these last weights are evaluated.
  virtual void ReportFinalVersion(const ModelVersion& version) = 0;
  // This actor has taken its first environment step. Its reports then come at pauses that grow with its age to those of
  // other heartbeats, so that a young run's steps and time are nearly up to date.
  virtual void ReportFirstStep() = 0;
  // This worker's turn of this number is over. The worker that has the next turn knows this one's metrics and other
  // reports.
  virtual void ReportTurnDone(uint64_t number) = 0;
  // This learner could not reach the others of the group of this epoch: the hub forms another one.
  virtual void ReportBrokenGroup(uint64_t epoch) = 0;
  // The reason why this worker gives up. Users see it beside the worker, and the failure of the last learner fails the
  // run. Cut after kMaxFailureBytes.
  virtual void ReportFailure(const absl::Status& failure) = 0;

  // For actors of a run with stop.max_env_steps: the number of environment steps that this actor may take in its whole
  // life, for kStepLeaseUse. Blocks for one call. UNAVAILABLE while the hub is away or this worker has to join again;
  // CANCELLED after a stop; any other error is final.
  virtual absl::StatusOr<int64_t> TakeSteps(const StepRequest& request, const StopToken& stop) = 0;

  // A token that is stopped when the run is over, when the hub refuses this worker, or when the process is told to
  // stop.
  virtual const StopToken& run_over() const = 0;
  // The same for actors and learners: stopped as soon as the run is finishing.
  virtual const StopToken& training_over() const = 0;

  // Sends the pending reports and says goodbye, within `timeout`.
  virtual void Leave(absl::Duration timeout) = 0;
};

// The status that a worker's process ends with if its work ended with `status`. OK for a peaceful end, the end of
// training and a stop. The hub's refusal, which stops a worker as the end of a run does. Otherwise `status`, which is
// reported to the hub. Logs how the run ended if it has.
absl::Status WorkResult(const absl::Status& status, HubLink* hub);

}  // namespace waggle
