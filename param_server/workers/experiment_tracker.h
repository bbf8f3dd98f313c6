#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/api/hub.h"
#include "common/experiment/sections.h"

namespace waggle {

// What the hub has to know of an experiment to run it.
struct RunPlan {
  std::string name;
  std::string yaml;                 // Complete.
  StopOptions stop;                 // When it is over.
  int64_t evaluation_episodes = 1;  // Evaluations of fewer episodes do not count.
  int64_t replay_servers = 1;       // That the run has.
};

// How far a run is: what must survive the hub.
struct RunProgress {
  RunState state = RunState::kRunning;
  std::string reason;  // In words, why the run ended; empty while it goes on.
  // How long a hub has seen it go on since its first environment step; absent before that.
  std::optional<absl::Duration> running;
  double env_steps = 0;                    // Over all actors that ever were.
  double learner_steps = 0;                // Of the learner that is farthest.
  std::map<std::string, double> steps_of;  // Of env_steps: by actors that may report again, as last reported.

  friend bool operator==(const RunProgress& a, const RunProgress& b) {
    return a.state == b.state && a.reason == b.reason && a.running == b.running && a.env_steps == b.env_steps &&
           a.learner_steps == b.learner_steps && a.steps_of == b.steps_of;
  }
};

// Decides from what workers report whether a run goes on: running → solved | limit | failed, and there it stays, but
// for a failed one that is reopened. Pure logic; not thread-safe.
//
// The time limit counts from the first environment step that an actor reports, so that processes may be started by hand
// in any order, and only while the run goes on: not between one hub and the next, nor while the run has failed. Steps
// are added up worker by worker from counters that only grow while a worker lives, so a worker that leaves takes
// nothing away, and one that joins again counts nothing twice.
class ExperimentTracker {
 public:
  explicit ExperimentTracker(RunPlan plan) : plan_(std::move(plan)) {}

  // Goes on, from now, from what an earlier hub knew.
  void Restore(RunProgress progress, absl::Time now) {
    progress_ = std::move(progress);
    counted_ = now;
  }

  // A worker's counters now: "env_steps" of actors and "learner_steps" of learners count.
  void ReportCounters(const std::string& worker_id, Role role, const std::map<std::string, double>& counters,
                      absl::Time now);
  // An actor's environment steps in all its life; Advance looks at the limit on them.
  void ReportEnvSteps(const std::string& worker_id, double steps, absl::Time now);
  void ReportEvaluation(const Evaluation& evaluation);
  // The last learner that there was gave up.
  void ReportLearnerFailure(const std::string& reason);
  // Another learner has come: a run that has failed goes on. Returns whether it had.
  bool Reopen(absl::Time now);
  // Counts the time and looks at the limits.
  void Advance(absl::Time now);

  // Forgets workers that will not report again; what they did stays counted.
  void Forget(const std::string& worker_id) { progress_.steps_of.erase(worker_id); }
  void KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report);

  const RunPlan& plan() const { return plan_; }
  const RunProgress& progress() const { return progress_; }
  RunState state() const { return progress_.state; }
  uint64_t env_steps() const { return static_cast<uint64_t>(progress_.env_steps); }
  uint64_t learner_steps() const { return static_cast<uint64_t>(progress_.learner_steps); }

 private:
  void End(RunState state, std::string reason);

  const RunPlan plan_;
  RunProgress progress_;
  absl::Time counted_;  // Until when progress_.running counts; meaningless without it.
};

}  // namespace waggle
