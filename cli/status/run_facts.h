#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/status/cluster_client.h"
#include "common/api/hub.h"
#include "common/summary/run_counts.h"

namespace waggle {

// A worker of which nothing was heard for so long is told to be silent: several heartbeats.
constexpr int64_t kSilentMs = 3000;

// How a run stands, in numbers that people ask for: gathered from all processes of a snapshot. Items inserted and
// sampled are those that the tables tell of, if all replay servers are reached, else as RunCounts has them. Rates are a
// second, over the last heartbeats. Momentary figures are the hub's own, as it records them (worker.proto): absent
// while those are away who could tell.
struct RunFacts : public RunCounts {
  RunState state = RunState::kNoExperiment;
  std::string outcome_reason;
  absl::Duration running;  // The time of the run: since its first environment step, while a hub saw it go on.
  double env_steps = 0;
  std::optional<double> env_steps_per_s;
  std::optional<double> training_return;  // Mean over the actors' last episodes.
  std::optional<double> actor_waiting;    // Share of the actors' time, 0 to 1.
  int64_t actors = 0;                     // Alive.
  std::optional<double> items_inserted_per_s;
  std::optional<double> items_sampled_per_s;
  double table_items = 0;
  double table_max_items = 0;
  int64_t replay_servers_unheard = 0;  // That were asked for their tables and did not answer.
  std::vector<std::string> blocked;    // In words, what tables wait for on which nothing moves: see IsStuck.
  std::string turn;                    // Of a run in lock-step: "turn 12 is the learner's"; empty otherwise.
  double learner_steps = 0;
  std::optional<double> learner_steps_per_s;
  std::optional<double> learner_waiting;
  // Learner steps between the policy that acted and the step that learns from it.
  std::optional<double> policy_lag_mean;           // Over the last second.
  std::optional<double> policy_lag_when_inserted;  // Of what came to replay over the last second.
  std::optional<double> policy_lag_when_sampled;   // Of what came from there.
  std::vector<v1::Evaluation> evaluations;         // Oldest first.
  std::optional<v1::Result> result;
  std::string weights_unsaved;       // Why the hub's disk does not hold all weights it should; empty: it does.
  std::vector<std::string> gave_up;  // Workers that nobody has replaced, "actor-0: no such device".
  std::vector<std::string> silent;   // Workers from which nothing was heard for seconds, "actor-0 (7 s)".
  std::string cause;                 // See CauseOf.
};

RunFacts GatherFacts(const ClusterSnapshot& snapshot);

// Why an experiment waits, or why it has ended, in one sentence for all who tell its state: the hub's reason; else the
// workers that gave up, those that are silent, or the tables that are stuck. Empty if it gets on.
std::string CauseOf(const v1::ExperimentInfo& info, const RunFacts& facts = RunFacts());

// True if one side waits at a table while the side that it waits for does nothing. A rate limiter that keeps its ratio
// makes both sides wait all the time: while both move, that is no news. Rates that are not known are not zero.
bool IsStuck(const v1::TableInfo& table, std::optional<double> inserted_per_s, std::optional<double> sampled_per_s);

// What a newer software may add is an actor, or no experiment.
Role RoleOf(const v1::WorkerInfo& worker);
RunState RunStateOf(const v1::OverviewResponse& overview);

// "learner", "actor-2".
std::string WorkerName(const v1::WorkerInfo& worker);

}  // namespace waggle
