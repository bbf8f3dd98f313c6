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

// The port to the hub: a process gets its assignment and reports its state. Over gRPC in common/hub/hub_client.h.

namespace waggle {

// Numbered as v1::Role.
enum class Role { kActor = 1, kLearner, kReplayServer, kParamServer, kEvaluator, kReducer };

// The most bytes of a failure that are sent and kept, because the hub's file is bounded.
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

// Workers must finish then.
inline bool IsOver(RunState state) {
  return state == RunState::kSolved || state == RunState::kLimit || state == RunState::kFailed ||
         state == RunState::kStopped;
}

// Acting and training must stop then.
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
  double standard_deviation = 0;  // The returns' sample deviation (n - 1); 0 for one episode.
  double mean_length = 0;         // Steps an episode.
  uint64_t env_steps = 0;         // The run's, when this version was published.
  // A step's mean of each dimension of a vector reward, [k]; empty for scalar rewards.
  std::vector<double> mean_rewards = {};
};

// The result of a run: the evaluation of the weights that are kept as its best.
struct RunResult {
  Evaluation evaluation;
  bool confirmed = false;  // A second evaluation of these weights reached the target.
};

// A turn of a run in lock-step (experiment.deterministic), where one process at a time works.
struct Turn {
  uint64_t number = 0;  // Counts from 1.
  Role role = Role::kLearner;
  int64_t items = 0;  // Written by all actors so far, in all tables.
  // The index of the actor or the replay server whose turn it is.
  std::optional<int64_t> index = {};
  uint64_t cut = 0;  // The cut that the learner or the hub must make in this turn; 0: none.
  // The newest cut; 0: none. A worker that began before it begins anew, as all do in a run that goes back to it.
  uint64_t since_cut = 0;
};

// A run's return to a cut. Each replay server obeys it once.
struct Restoration {
  uint64_t cut = 0;
  std::string token;  // Different for each restoration.

  friend bool operator==(const Restoration& a, const Restoration& b) { return a.cut == b.cut && a.token == b.token; }
};

// If a hub finds a file of this name in its --data-dir when it starts, the experiments that ran go back to their newest
// cuts. It removes the file.
inline constexpr char kReturnToCuts[] = "return_to_cuts";

// The part of a cut that the learner and the replay servers have made.
struct CutReport {
  uint64_t number = 0;
  int64_t learner_steps = 0;
  std::string failure;  // Why it could not be made; empty if it was.
};

// A learner's place in a group, which holds until the group's members change.
struct GroupSeat {
  uint64_t epoch = 0;  // Larger than any earlier group's or learner's. The first learner publishes under it.
  int64_t rank = 0;    // From 0, by the learners' indices.
  int64_t size = 1;

  friend bool operator==(const GroupSeat& a, const GroupSeat& b) {
    return a.epoch == b.epoch && a.rank == b.rank && a.size == b.size;
  }
};

// An order to the learner of a population's member: it must take the newest weights of another member.
struct Exploit {
  std::string source;   // The other's experiment id.
  uint64_t serial = 0;  // Later orders have larger numbers; 0 before the first.

  friend bool operator==(const Exploit& a, const Exploit& b) { return a.source == b.source && a.serial == b.serial; }
};

// The hub's orders to a worker, with their facts.
struct Assignment {
  RunState run_state = RunState::kNoExperiment;
  std::string experiment_yaml;  // Complete; empty if there is none.
  // The numbers of the experiment that were set since, as common/config/experiment/live_settings.h says.
  std::string settings;
  Exploit exploit;                             // The newest order.
  std::optional<EnvironmentSpec> environment;  // Known once the first actor has reported it.
  // By index, the last known HOST:PORT; empty if no server has joined.
  std::vector<std::string> replay_servers;
  std::vector<std::string> learners;  // Empty also for a learner that does not serve.
  std::vector<std::string> reducers;
  std::optional<ModelVersion> model_version;  // The newest weights'.
  int64_t actors = 1;
  absl::Time said_at;                     // By the hub's clock. The later of two assignments holds.
  std::optional<RunResult> result;        // Set once the run is over.
  Progress progress;                      // The run's, without the learner's steps.
  std::vector<double> evaluated_rewards;  // Evaluation::mean_rewards of the newest evaluation.
  std::optional<Turn> turn;               // Absent if the run is not in lock-step.
  uint64_t cut_wanted = 0;                // For a learner that is not in lock-step: the cut to make; 0: none.
  std::vector<uint64_t> cuts;             // The numbers of the run's cuts.
  std::optional<Restoration> restoration;
  std::optional<GroupSeat> group;  // For a learner of several, once they are a group.
  // This worker's own, fixed when it joins.
  std::string worker_id;
  int64_t index = 0;   // Among the workers of its role.
  uint64_t epoch = 0;  // Learners: larger than every earlier learner's.
  // Actors and evaluators: the number of earlier workers of this role and index in this run.
  uint64_t life = 0;
  int64_t earlier_env_steps = 0;  // The run's, over all actors, when this worker joined.
};

// The first `servers` addresses; empty for servers that have not joined.
std::vector<std::string> ReplayServersOf(const Assignment& assignment, int64_t servers);

struct StepRequest {
  int64_t used = 0;     // Steps taken in its whole life.
  int64_t allowed = 0;  // The last answer; 0 before the first.
  int64_t block = 1;    // Steps for one hand-over. The hub gives fewer only if fewer are left.
  double rate = 0;      // Steps a second since its last request.
};

// The hub takes unused steps back so long after the actor's last request. The actor counts from before the request and
// uses them for a shorter time, so that no step is given twice.
constexpr absl::Duration kStepLeaseLife = absl::Seconds(10);
constexpr absl::Duration kStepLeaseUse = absl::Seconds(5);

// An experiment at a hub.
struct RunAddress {
  // NOLINTNEXTLINE(google-explicit-constructor): the address is enough for a hub with one experiment.
  RunAddress(std::string hub_address, std::string experiment = "")
      : hub(std::move(hub_address)), experiment_id(std::move(experiment)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  RunAddress(const char* hub_address) : hub(hub_address) {}

  std::string hub;  // HOST:PORT.
  std::string experiment_id;
};

// A worker's link to the hub. Heartbeats in the background keep it up, and join again after an absence of the hub.
// Urgent news comes at once. Thread-safe.
class HubLink {
 public:
  virtual ~HubLink() = default;

  virtual Assignment assignment() const = 0;

  // Waits for an assignment with this condition. CANCELLED after a stop or the run's end (IsOver). Any other error is
  // the hub's final refusal.
  virtual absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                               const StopToken& stop) = 0;

  // Each report goes with the next heartbeat, and hurries it.
  virtual void ReportEnvironment(const EnvironmentSpec& environment) = 0;
  virtual void ReportEvaluation(const Evaluation& evaluation) = 0;
  // This learner has stopped training. The run may end after the evaluation of these weights.
  virtual void ReportFinalVersion(const ModelVersion& version) = 0;
  // This actor has taken its first step. Its heartbeats then begin with short pauses that grow, so that a young run's
  // steps and time are nearly up to date.
  virtual void ReportFirstStep() = 0;
  // This worker's turn is over. The worker with the next turn knows this one's metrics and reports.
  virtual void ReportTurnDone(uint64_t number) = 0;
  // This learner has made a cut, or has failed to.
  virtual void ReportCut(const CutReport& report) = 0;
  // This learner could not reach others of this epoch's group: the hub must form another.
  virtual void ReportBrokenGroup(uint64_t epoch) = 0;
  // This worker gives up: users see why. The run fails with its last learner. Cut after kMaxFailureBytes.
  virtual void ReportFailure(const absl::Status& failure) = 0;

  // For actors of a run with stop.max_env_steps: the limit on this actor's steps in its whole life, for kStepLeaseUse.
  // Blocks for one call. UNAVAILABLE while the hub is away or this worker must join again; CANCELLED after a stop; any
  // other error is final.
  virtual absl::StatusOr<int64_t> TakeSteps(const StepRequest& request, const StopToken& stop) = 0;

  // Stopped when the run is over, when the hub refuses this worker, or when the process must stop.
  virtual const StopToken& run_over() const = 0;
  // For actors and learners: also stopped once the run is finishing.
  virtual const StopToken& training_over() const = 0;

  // Sends pending reports and a goodbye, within `timeout`.
  virtual void Leave(absl::Duration timeout) = 0;
};

// The status to end a worker's process with after its work ended with `status`. OK after a peaceful end, the end of
// training or a stop. The hub's refusal, which stops a worker as the run's end does. Otherwise `status`, which it
// reports to the hub. Logs the run's end.
absl::Status WorkResult(const absl::Status& status, HubLink* hub);

}  // namespace waggle
