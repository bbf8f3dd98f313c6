#include "cli/status/run_facts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/hub/hub_convert.h"
#include "common/hub/summary/bottleneck.h"

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

void AddTables(const ClusterSnapshot& snapshot, RunFacts* facts) {
  double inserted = 0;
  double sampled = 0;
  for (const ReplayServerState& server : snapshot.replay_servers) {
    facts->replay_servers_unheard += server.status.ok() ? 0 : 1;
    for (const v1::TableInfo& table : server.tables.tables()) {
      inserted += static_cast<double>(table.items_inserted());
      sampled += static_cast<double>(table.items_sampled());
      facts->table_items += static_cast<double>(table.items());
      facts->table_max_items += static_cast<double>(table.config().max_items());
      if (IsStuck(table, facts->items_inserted_per_s, facts->items_sampled_per_s)) {
        facts->blocked.push_back(table.blocked_because());
      }
    }
  }
  if (!snapshot.replay_servers.empty() && facts->replay_servers_unheard == 0) {
    facts->items_inserted = inserted;
    facts->items_sampled = sampled;
  }
}

// True if a worker gave up and no other worker has its place.
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
  static_cast<RunCounts&>(facts) = CountsOf(overview);
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
    if (GaveUpForGood(worker, overview)) {
      facts.gave_up.push_back(absl::StrCat(WorkerName(worker), ": ", worker.failure()));
    }
    if (!worker.alive()) {
      continue;
    }
    if (worker.silent_ms() >= kSilentWorkerMs) {
      facts.silent.push_back(absl::StrCat(WorkerName(worker), " (", worker.silent_ms() / 1000, " s)"));
    }
    facts.actors += worker.role() == v1::ROLE_ACTOR ? 1 : 0;
  }
  AddTables(snapshot, &facts);
  facts.cause = CauseOf(snapshot.info, facts);
  return facts;
}

std::string CauseOf(const v1::ExperimentInfo& info, const RunFacts& facts) {
  return !info.reason().empty()   ? info.reason()
         : !facts.gave_up.empty() ? absl::StrCat("gave up: ", absl::StrJoin(facts.gave_up, ", "))
         : !facts.silent.empty()  ? absl::StrCat("silent: ", absl::StrJoin(facts.silent, ", "))
                                  : absl::StrJoin(facts.blocked, "; ");
}

bool IsStuck(const v1::TableInfo& table, std::optional<double> inserted_per_s, std::optional<double> sampled_per_s) {
  return (table.inserts_waiting() > 0 && sampled_per_s == 0.0) ||
         (table.samples_waiting() > 0 && inserted_per_s == 0.0);
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
  // There is one hub, and most runs have one learner.
  const bool one_only = (role == Role::kLearner && worker.index() == 0) || role == Role::kParamServer;
  return one_only ? name : absl::StrCat(name, "-", worker.index());
}

}  // namespace waggle
