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
#include "param_server/run/cut_course.h"
#include "param_server/run/turn_order.h"

namespace waggle {

// The numbers of a run's experiment that were set since its submission, and the weights that its learner must take.
struct RunSettings {
  std::string text;  // See common/config/experiment/live_settings.h; empty: none were set.
  std::string yaml;  // The experiment with them; empty if none were set.
  Exploit exploit = {};
};

// The parts of an experiment that its hub must know.
struct RunPlan {
  std::string name;
  std::string yaml;  // Complete, as it was submitted.
  StopOptions stop;
  int64_t evaluation_episodes = 1;  // Evaluations of fewer episodes do not count.
  int64_t replay_servers = 1;
  bool evaluates = true;  // False: the run has no evaluations.
  std::optional<LockStepOptions> lock_step = {};
  int64_t learners = 1;
  bool keeps_items = false;  // Items outlive their replay server (replay.durability).
  RunSettings settings = {};
  CutCourseOptions cuts = {};
};

// The progress of a run. It must survive the hub.
struct RunProgress {
  RunState state = RunState::kRunning;
  std::string reason;  // Why the run ended, in words; empty while it goes on.
  // The time of the run; absent before its first environment step.
  std::optional<absl::Duration> running;
  double env_steps = 0;                            // Sum over all actors, gone ones included.
  double learner_steps = 0;                        // The most of any learner.
  std::map<std::string, double> steps_of;          // Last reported steps of actors that may report again.
  std::optional<RunResult> result = std::nullopt;  // The best evaluation; of a solved run, the confirming one.
  std::vector<Evaluation> candidates = {};  // Evaluations that reached the target and must be confirmed, oldest first.
};

// The progress of a run that had ended and goes on with these limits. A result and candidates that do not reach its
// target count as not confirmed. The progress of another run stays as it is.
RunProgress Continued(RunProgress progress, const StopOptions& stop);

// Decides from the workers' reports if a run goes on: running → [finishing →] solved | limit | failed | stopped. The
// last four are final, but a failed run can be reopened. A run that has reached a limit is finishing until the
// learner's last weights are evaluated. Pure logic; not thread-safe.
//
// A run is solved if two evaluations of the same weights reach the target: among many versions one reaches it by luck.
//
// The time of a run begins with the first environment step that an actor reports, or the first learner step if that is
// earlier, as without actors, so that processes may start in any order. It goes on only while a hub runs and the run is
// neither finishing nor over. Environment steps add up the growth of each actor's counter: an actor that leaves or
// joins again takes nothing away and counts nothing twice. Learner steps are the largest number that a learner has
// reported or published.
class ExperimentTracker {
 public:
  explicit ExperimentTracker(RunPlan plan) : plan_(std::move(plan)) {}

  // Goes on, from now, with the progress of an earlier hub.
  void Restore(RunProgress progress, absl::Time now, std::optional<ModelVersion> newest_evaluated = std::nullopt) {
    progress_ = std::move(progress);
    counted_ = now;
    newest_evaluated_ = newest_evaluated;
  }

  // A worker's counters. Only "env_steps" of actors and "learner_steps" of learners count.
  void ReportCounters(const std::string& worker_id, Role role, const std::map<std::string, double>& counters,
                      absl::Time now);
  // An evaluation of weights that are still in memory. Returns true if they are the best now.
  bool ReportEvaluation(const Evaluation& evaluation);
  // Weights of this version were published. The learner's counter may come later, or never.
  void ReportVersion(const ModelVersion& version);
  // The learner has stopped at this version and publishes it. It repeats the report until the run is over.
  void ReportFinalVersion(const ModelVersion& version, absl::Time now);
  // An actor's environment steps in all its life. Advance checks the limit on them.
  void ReportEnvSteps(const std::string& worker_id, double steps, absl::Time now);
  // The last learner gave up: a running run fails, a finishing one ends without an evaluation of its last weights.
  void ReportLearnerFailure(const std::string& reason);
  // Ends the run as stopped or failed, without a further evaluation. Does nothing if the run is over.
  void EndNow(RunState state, const std::string& reason);
  // Another learner has joined: a failed run goes on. Returns true if the run had failed.
  bool Reopen(absl::Time now);
  // Counts the time and checks the limits.
  void Advance(absl::Time now);
  // Ends a finishing run if its last weights are evaluated, cannot be (`hindrance` says why), or were not in time.
  void Conclude(const std::string& hindrance, absl::Time now);

  // Forgets workers that will not report again. Their steps stay counted.
  void Forget(const std::string& worker_id) { progress_.steps_of.erase(worker_id); }
  void KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report);

  const RunPlan& plan() const { return plan_; }
  const RunProgress& progress() const { return progress_; }
  RunState state() const { return progress_.state; }
  // The version of the run's last weights. Absent until the run is finishing and the learner has reported it.
  const std::optional<ModelVersion>& final_version() const { return final_version_; }
  // The progress towards the nearest limit, from 0 to 1, and the steps.
  Progress RunProgressNow() const;
  uint64_t env_steps() const { return static_cast<uint64_t>(progress_.env_steps); }
  uint64_t learner_steps() const { return static_cast<uint64_t>(progress_.learner_steps); }

 private:
  // Lets the time of the run begin, if it has begun.
  void BeginIf(bool begun, absl::Time now);
  // A run that reaches a limit is finishing first, if it has evaluations.
  void End(RunState state, std::string reason);
  // Ends a finishing run without an evaluation of its last weights.
  void EndUnevaluated(const std::string& why);
  // The candidate of this version; null if there is none.
  const Evaluation* FindCandidate(const ModelVersion& version) const;

  const RunPlan plan_;
  RunProgress progress_;
  std::optional<ModelVersion> newest_evaluated_;
  std::optional<ModelVersion> final_version_;
  std::optional<absl::Time> finishing_since_;
  absl::Time counted_;  // End of the time in progress_.running; meaningless if that is absent.
};

}  // namespace waggle
