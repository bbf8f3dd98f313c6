#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/status/cluster_client.h"
#include "common/hub/ports/hub.h"
#include "common/hub/summary/run_counts.h"

namespace waggle {

// A run's figures, gathered from all processes of a snapshot. Items inserted and sampled are the tables' counts if all
// replay servers are reached, and those of RunCounts otherwise. Rates are per second, over the last heartbeats.
// Momentary figures are the hub's own, as it records them (worker.proto); they are absent while the processes that
// report them are away.
struct RunFacts : public RunCounts {
  RunState state = RunState::kNoExperiment;
  std::string outcome_reason;
  absl::Duration running;  // The run's time since its first environment step, counted while a hub observed it.
  double env_steps = 0;
  std::optional<double> env_steps_per_s;
  std::optional<double> training_return;  // Mean over the actors' last episodes.
  std::optional<double> actor_waiting;    // Share of the actors' time, 0 to 1.
  int64_t actors = 0;                     // Alive.
  std::optional<double> items_inserted_per_s;
  std::optional<double> items_sampled_per_s;
  double table_items = 0;
  double table_max_items = 0;
  int64_t replay_servers_unheard = 0;  // Servers that did not answer.
  std::vector<std::string> blocked;    // In words, why tables wait at which nothing moves: see IsStuck.
  std::string turn;                    // In lock-step: "turn 12 is the learner's"; otherwise empty.
  double learner_steps = 0;
  std::optional<double> learner_steps_per_s;
  std::optional<double> learner_waiting;
  // Learner steps between the policy that acted and the step that learns from it.
  std::optional<double> policy_lag_mean;           // Over the last second.
  std::optional<double> policy_lag_when_inserted;  // Over items inserted in the last second.
  std::optional<double> policy_lag_when_sampled;   // Over items sampled in the last second.
  std::vector<v1::Evaluation> evaluations;         // Oldest first.
  std::optional<v1::Result> result;
  std::string weights_unsaved;       // Why some weights are not on the hub's disk; empty if all are.
  std::vector<std::string> gave_up;  // Workers without a replacement, "actor-0: no such device".
  std::vector<std::string> silent;   // Workers that sent nothing for seconds, "actor-0 (7 s)".
  std::string cause;                 // See CauseOf.
};

RunFacts GatherFacts(const ClusterSnapshot& snapshot);

// Why an experiment waits, or why it has ended, in one sentence: the hub's reason; otherwise the workers that gave up,
// the silent ones, or the stuck tables. Empty if it makes progress. All verbs that show a state use it.
std::string CauseOf(const v1::ExperimentInfo& info, const RunFacts& facts = RunFacts());

// True if one side waits at a table while the other side does nothing. A rate limiter that keeps its ratio makes both
// sides wait all the time; that is normal while both move. An unknown rate does not count as zero.
bool IsStuck(const v1::TableInfo& table, std::optional<double> inserted_per_s, std::optional<double> sampled_per_s);

// Unknown roles and states, which newer software may add, count as an actor and as no experiment.
Role RoleOf(const v1::WorkerInfo& worker);
RunState RunStateOf(const v1::OverviewResponse& overview);

// "learner", "actor-2".
std::string WorkerName(const v1::WorkerInfo& worker);

}  // namespace waggle
