#pragma once

#include <cstdint>
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
};

// Decides from what workers report whether a run goes on: running → solved | limit | failed, and there it stays. Pure
// logic; not thread-safe.
//
// The time limit counts from the first environment step that an actor reports, so that processes may be started by hand
// in any order. Steps are added up worker by worker from counters that only grow while a worker lives, so a worker that
// leaves takes nothing away, and one that joins again counts nothing twice.
class ExperimentTracker {
 public:
  explicit ExperimentTracker(RunPlan plan) : plan_(std::move(plan)) {}

  // Goes on from what an earlier hub knew.
  void Restore(RunState state, const std::string& reason, std::optional<absl::Time> first_step);

  // A worker's counters now: "env_steps" of actors and "learner_steps" of learners count.
  void ReportCounters(const std::string& worker_id, Role role, const std::map<std::string, double>& counters,
                      absl::Time now);
  void ReportEvaluation(const Evaluation& evaluation);
  // The learner that counts gave up.
  void ReportLearnerFailure(const std::string& reason);
  // Looks at the limits.
  void Advance(absl::Time now);

  const RunPlan& plan() const { return plan_; }
  RunState state() const { return state_; }
  // In words, why the run ended; empty while it goes on.
  const std::string& reason() const { return reason_; }
  uint64_t env_steps() const { return static_cast<uint64_t>(env_steps_); }
  // Of the learner that is farthest.
  uint64_t learner_steps() const { return static_cast<uint64_t>(learner_steps_); }
  std::optional<absl::Time> first_step() const { return first_step_; }

 private:
  void End(RunState state, std::string reason);

  const RunPlan plan_;
  RunState state_ = RunState::kRunning;
  std::string reason_;
  double env_steps_ = 0;
  double learner_steps_ = 0;
  std::map<std::string, double> env_steps_of_;  // By worker, as last reported.
  std::optional<absl::Time> first_step_;
};

}  // namespace waggle
