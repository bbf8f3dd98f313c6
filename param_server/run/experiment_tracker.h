#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/config/experiment/sections.h"
#include "common/hub/ports/hub.h"
#include "param_server/run/turn_order.h"

namespace waggle {

// What the hub has to know of an experiment to run it.
struct RunPlan {
  std::string name;
  std::string yaml;                 // Complete.
  StopOptions stop;                 // When it is over.
  int64_t evaluation_episodes = 1;  // Evaluations of fewer episodes do not count.
  int64_t replay_servers = 1;       // That the run has.
  bool evaluates = true;            // Whether there are to be evaluations.
  std::optional<LockStepOptions> lock_step = {};
  int64_t learners = 1;      // That the run has.
  bool keeps_items = false;  // Whether the run's items outlive its replay servers (replay.durability).
};

// How far a run is: what must survive the hub.
struct RunProgress {
  RunState state = RunState::kRunning;
  std::string reason;  // In words, why the run ended; empty while it goes on.
  // The time of the run; absent before its first environment step.
  std::optional<absl::Duration> running;
  double env_steps = 0;                    // Over all actors that ever were.
  double learner_steps = 0;                // Of the learner that is farthest.
  std::map<std::string, double> steps_of;  // Of env_steps: by actors that may report again, as last reported.
  std::optional<RunResult> result =
      std::nullopt;                         // The best evaluation; at the end of a solved run the one that counts.
  std::vector<Evaluation> candidates = {};  // Those that reached the target and are to be confirmed, oldest first.
};

// Decides from what workers report whether a run goes on: running → solved | limit | failed, and there it stays, but
// for a failed one that is reopened; on the way to its limit a run is finishing. Pure logic; not thread-safe.
//
// A run is solved by two evaluations of the same weights that each reach the target: of many versions one is sure to be
// lucky once. A run that reaches a limit has the learner's last weights evaluated before it ends.
//
// The time of a run counts from the first environment step that an actor reports, so that processes may be started by
// hand in any order, and only while the run goes on: not between one hub and the next, though workers may go on, nor
// while the run has failed, has been stopped or evaluates its last weights. Steps are added up worker by worker from
// counters that only grow while a worker lives, so a worker that leaves takes nothing away, and one that joins again
// counts nothing twice.
class ExperimentTracker {
 public:
  explicit ExperimentTracker(RunPlan plan) : plan_(std::move(plan)) {}

  // Goes on, from now, from what an earlier hub knew.
  void Restore(RunProgress progress, absl::Time now, std::optional<ModelVersion> newest_evaluated = std::nullopt) {
    progress_ = std::move(progress);
    counted_ = now;
    newest_evaluated_ = newest_evaluated;
  }

  // A worker's counters now: "env_steps" of actors and "learner_steps" of learners count.
  void ReportCounters(const std::string& worker_id, Role role, const std::map<std::string, double>& counters,
                      absl::Time now);
  // Of weights that can be kept. Returns whether they are the best now.
  bool ReportEvaluation(const Evaluation& evaluation);
  // Weights of this version are there. A learner's counter may come later than they do, or never.
  void ReportVersion(const ModelVersion& version);
  // The learner has stopped at this version, which it publishes; heard again and again until the run is over.
  void ReportFinalVersion(const ModelVersion& version, absl::Time now);
  // An actor's environment steps in all its life; Advance looks at the limit on them.
  void ReportEnvSteps(const std::string& worker_id, double steps, absl::Time now);
  // The last learner that there was gave up.
  void ReportLearnerFailure(const std::string& reason);
  // Somebody ends the run, as stopped or failed, whatever it is at: nothing more is evaluated. Nothing where it is
  // over.
  void EndNow(RunState state, const std::string& reason);
  // Another learner has come: a run that has failed goes on. Returns whether it had.
  bool Reopen(absl::Time now);
  // Counts the time and looks at the limits.
  void Advance(absl::Time now);
  // Ends a finishing run if its last weights have been evaluated, cannot be (`hindrance` says why; empty: nothing
  // hinders), or have not been for long.
  void Conclude(const std::string& hindrance, absl::Time now);

  // Forgets workers that will not report again; what they did stays counted.
  void Forget(const std::string& worker_id) { progress_.steps_of.erase(worker_id); }
  void KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report);

  const RunPlan& plan() const { return plan_; }
  const RunProgress& progress() const { return progress_; }
  RunState state() const { return progress_.state; }
  // Which weights are the run's last, as the learner has said; nothing until it has, or before the run is finishing.
  const std::optional<ModelVersion>& final_version() const { return final_version_; }
  // How far the run is towards its nearest limit, from 0 to 1, and its steps.
  Progress RunProgressNow() const;
  uint64_t env_steps() const { return static_cast<uint64_t>(progress_.env_steps); }
  uint64_t learner_steps() const { return static_cast<uint64_t>(progress_.learner_steps); }

 private:
  // A run that reaches a limit is finishing first, where there are evaluations.
  void End(RunState state, std::string reason);
  // Ends a finishing run without an evaluation of its last weights.
  void EndUnevaluated(const std::string& why);
  // Of a version; null if there is none.
  const Evaluation* FindCandidate(const ModelVersion& version) const;

  const RunPlan plan_;
  RunProgress progress_;
  std::optional<ModelVersion> newest_evaluated_;
  std::optional<ModelVersion> final_version_;  // Once the run is finishing.
  std::optional<absl::Time> finishing_since_;
  absl::Time counted_;  // Until when progress_.running counts; meaningless without it.
};

}  // namespace waggle
