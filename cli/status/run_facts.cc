#include "cli/status/run_facts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/hub_client/hub_convert.h"

namespace waggle {
namespace {

using Figures = google::protobuf::Map<std::string, double>;

std::optional<double> Get(const Figures& figures, const char* name) {
  const auto it = figures.find(name);
  return it == figures.end() ? std::nullopt : std::optional<double>(it->second);
}

void AddFigures(const Figures& figures, RunFacts* facts) {
  facts->env_steps_per_s = Get(figures, "actor/env_steps_per_s");
  facts->training_return = Get(figures, "actor/return_mean");
  facts->actor_waiting = Get(figures, "actor/waiting_fraction");
  facts->items_inserted_per_s = Get(figures, "replay/items_inserted_per_s");
  facts->items_sampled_per_s = Get(figures, "replay/items_sampled_per_s");
  facts->learner_steps_per_s = Get(figures, "learner/steps_per_s");
  facts->learner_waiting = Get(figures, "learner/waiting_fraction");
  facts->policy_lag_mean = Get(figures, "learner/policy_lag_mean");
  facts->policy_lag_when_inserted = Get(figures, "actor/policy_lag_when_inserted_mean");
  facts->policy_lag_when_sampled = Get(figures, "learner/policy_lag_when_sampled_mean");
}

// What a learner has counted, its largest lag included, stands when it is gone.
void AddLearnerCounts(const v1::WorkerInfo& learner, RunFacts* facts) {
  if (const std::optional<double> lag = Get(learner.gauges(), "policy_lag_max"); lag.has_value()) {
    facts->policy_lag_max = std::max(*lag, facts->policy_lag_max.value_or(*lag));
  }
  facts->policy_lag_sum += Get(learner.counters(), "policy_lag_sum").value_or(0);
  facts->items_learned += Get(learner.counters(), "items_sampled").value_or(0);
  for (size_t bucket = 0; bucket < kLagBuckets; ++bucket) {
    facts->policy_lags[bucket] += Get(learner.counters(), LagBucketCounter(bucket).c_str()).value_or(0);
  }
  facts->items_too_old += Get(learner.counters(), "items_too_old").value_or(0);
}

// What became of gradients is what their workers were told: an actor that pushes any counts them from its beginning on.
void AddGradients(const v1::WorkerInfo& actor, RunFacts* facts) {
  const std::optional<double> pushed = Get(actor.counters(), "gradients_pushed");
  if (!pushed.has_value()) {
    return;
  }
  if (!facts->gradients.has_value()) {
    facts->gradients.emplace();
  }
  GradientFacts& gradients = *facts->gradients;
  gradients.pushed += *pushed;
  gradients.applied += Get(actor.counters(), "gradients_applied").value_or(0);
  for (const auto& [name, count] : actor.counters()) {
    if (absl::string_view reason = name; absl::ConsumePrefix(&reason, "gradients_refused_")) {
      gradients.refused[std::string(reason)] += count;
    }
  }
}

// What only the primary, which is the run's learner, can tell of them.
void AddPrimaryCounts(const ClusterSnapshot& snapshot, GradientFacts* gradients) {
  for (const v1::WorkerInfo& worker : snapshot.overview.workers()) {
    if (worker.role() == v1::ROLE_LEARNER) {
      gradients->rolled_back += Get(worker.counters(), "gradients_rolled_back").value_or(0);
      gradients->sums_split += Get(worker.counters(), "gradient_sums_split").value_or(0);
    }
  }
  gradients->pushed_per_s = Get(snapshot.overview.figures(), "actor/gradients_pushed_per_s");
}

void AddTables(const ClusterSnapshot& snapshot, RunFacts* facts) {
  for (const ReplayServerState& server : snapshot.replay_servers) {
    facts->replay_servers_unheard += server.status.ok() ? 0 : 1;
    for (const v1::TableInfo& table : server.tables.tables()) {
      facts->items_inserted += static_cast<double>(table.items_inserted());
      facts->items_sampled += static_cast<double>(table.items_sampled());
      facts->table_items += static_cast<double>(table.items());
      facts->table_max_items += static_cast<double>(table.config().max_items());
      if (!table.blocked_because().empty()) {
        facts->blocked.push_back(table.blocked_because());
      }
    }
  }
}

// Of a run whose replay servers are not asked any more, or cannot be reached from here: what they said to the hub last.
void TakeReplayCounts(const v1::OverviewResponse& overview, RunFacts* facts) {
  facts->items_inserted = 0;
  facts->items_sampled = 0;
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.role() == v1::ROLE_REPLAY_SERVER) {
      facts->items_inserted += Get(worker.counters(), "items_inserted").value_or(0);
      facts->items_sampled += Get(worker.counters(), "items_sampled").value_or(0);
    }
  }
}

// Whether a worker gave up and no other has its place.
bool GaveUpForGood(const v1::WorkerInfo& worker, const v1::OverviewResponse& overview) {
  return !worker.failure().empty() &&
         std::none_of(overview.workers().begin(), overview.workers().end(), [&worker](const v1::WorkerInfo& other) {
           return other.role() == worker.role() && other.index() == worker.index() &&
                  other.joined_at_us() > worker.joined_at_us();
         });
}

}  // namespace

RunFacts GatherFacts(const ClusterSnapshot& snapshot) {
  const v1::OverviewResponse& overview = snapshot.overview;
  RunFacts facts;
  facts.state = RunStateOf(overview);
  facts.outcome_reason = overview.outcome_reason();
  facts.running = absl::Milliseconds(overview.running_ms());
  facts.env_steps = static_cast<double>(overview.env_steps());
  facts.learner_steps = static_cast<double>(overview.learner_steps());
  facts.evaluations.assign(overview.evaluations().begin(), overview.evaluations().end());
  AddFigures(overview.figures(), &facts);
  if (overview.has_result()) {
    facts.result = overview.result();
  }
  facts.weights_unsaved = overview.weights_unsaved();
  if (const absl::StatusOr<Turn> turn = FromProto(overview.turn()); overview.has_turn() && turn.ok()) {
    facts.turn = absl::StrCat("turn ", turn->number, " is the ", RoleName(turn->role), "'s");
  }
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.role() == v1::ROLE_ACTOR) {
      AddGradients(worker, &facts);
      const std::optional<double> first = Get(worker.gauges(), "first_env_step_unix_seconds");
      if (first.has_value() && *first > 0) {
        facts.first_env_step_unix = std::min(*first, facts.first_env_step_unix.value_or(*first));
      }
    } else if (worker.role() == v1::ROLE_LEARNER) {
      AddLearnerCounts(worker, &facts);
    }
    if (GaveUpForGood(worker, overview)) {
      facts.gave_up.push_back(absl::StrCat(WorkerName(worker), ": ", worker.failure()));
    }
    if (!worker.alive()) {
      continue;
    }
    if (worker.silent_ms() >= kSilentMs) {
      facts.silent.push_back(absl::StrCat(WorkerName(worker), " (", worker.silent_ms() / 1000, " s)"));
    }
    facts.actors += worker.role() == v1::ROLE_ACTOR ? 1 : 0;
  }
  AddTables(snapshot, &facts);
  if (snapshot.replay_servers.empty() || facts.replay_servers_unheard > 0) {
    TakeReplayCounts(overview, &facts);
  }
  if (facts.gradients.has_value()) {
    AddPrimaryCounts(snapshot, &*facts.gradients);
  }
  return facts;
}

RunState RunStateOf(const v1::OverviewResponse& overview) {
  return FromProto(overview.run_state()).value_or(RunState::kNoExperiment);
}

Role RoleOf(const v1::WorkerInfo& worker) {
  return FromProto(worker.role()).value_or(Role::kActor);
}

std::string WorkerName(const v1::WorkerInfo& worker) {
  const Role role = RoleOf(worker);
  const std::string name = RoleName(role);
  // There is one hub, and in most runs one learner.
  const bool one_only = (role == Role::kLearner && worker.index() == 0) || role == Role::kParamServer;
  return one_only ? name : absl::StrCat(name, "-", worker.index());
}

}  // namespace waggle
