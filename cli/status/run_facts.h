#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/status/cluster_client.h"
#include "cli/status/gradients_report.h"
#include "common/api/hub.h"
#include "common/metrics/lag_buckets.h"

namespace waggle {

// A worker of which nothing was heard for so long is told to be silent: several heartbeats.
constexpr int64_t kSilentMs = 3000;

// How a run stands, in numbers that people ask for: gathered from all processes of a snapshot. Rates are a second, over
// the last heartbeats. Momentary figures are the hub's own, as it records them (worker.proto): absent while those are
// away who could tell.
struct RunFacts {
  RunState state = RunState::kNoExperiment;
  std::string outcome_reason;
  absl::Duration running;  // The time of the run: since its first environment step, while a hub saw it go on.
  double env_steps = 0;
  std::optional<double> env_steps_per_s;
  std::optional<double> training_return;      // Mean over the actors' last episodes.
  std::optional<double> first_env_step_unix;  // Seconds.
  std::optional<double> actor_waiting;        // Share of the actors' time, 0 to 1.
  int64_t actors = 0;                         // Alive.
  double items_inserted = 0;
  std::optional<double> items_inserted_per_s;
  double items_sampled = 0;
  std::optional<double> items_sampled_per_s;
  double table_items = 0;
  double table_max_items = 0;
  int64_t replay_servers_unheard = 0;  // That were asked for their tables and did not answer.
  std::vector<std::string> blocked;    // In words, what tables wait for.
  std::string turn;                    // Of a run in lock-step: "turn 12 is the learner's"; empty otherwise.
  double learner_steps = 0;
  std::optional<double> learner_steps_per_s;
  std::optional<double> learner_waiting;
  double items_learned = 0;  // Sampled items that the learner has used.
  // Learner steps between the policy that acted and the step that learns from it.
  std::optional<double> policy_lag_mean;           // Over the last second.
  std::optional<double> policy_lag_max;            // Over the run.
  double policy_lag_sum = 0;                       // Over all of items_learned.
  std::optional<double> policy_lag_when_inserted;  // Of what came to replay over the last second.
  std::optional<double> policy_lag_when_sampled;   // Of what came from there.
  // Of items_learned, by LagBucket.
  std::array<double, kLagBuckets> policy_lags = {};
  double items_too_old = 0;                 // That the learner has left out (learner.max_policy_lag).
  std::optional<GradientFacts> gradients;   // Of a run whose actors push them: it has no tables, and no policy lags.
  std::vector<v1::Evaluation> evaluations;  // Oldest first.
  std::optional<v1::Result> result;
  std::string weights_unsaved;       // Why the hub's disk does not hold all weights it should; empty: it does.
  std::vector<std::string> gave_up;  // Workers that nobody has replaced, "actor-0: no such device".
  std::vector<std::string> silent;   // Workers from which nothing was heard for seconds, "actor-0 (7 s)".
};

RunFacts GatherFacts(const ClusterSnapshot& snapshot);

// What a newer software may add is an actor, or no experiment.
Role RoleOf(const v1::WorkerInfo& worker);
RunState RunStateOf(const v1::OverviewResponse& overview);

// "learner", "actor-2".
std::string WorkerName(const v1::WorkerInfo& worker);

}  // namespace waggle
