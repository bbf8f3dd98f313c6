#include "param_server/experiments/host_figures.h"

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "common/hub/pool_convert.h"
#include "common/hub/ports/pool.h"

namespace waggle {
namespace {

// A process that attends is silent for milliseconds.
constexpr int64_t kSilentMs = 5'000;

constexpr WorkerKind kKinds[] = {WorkerKind::kActor, WorkerKind::kLearner, WorkerKind::kReplayServer,
                                 WorkerKind::kEvaluator, WorkerKind::kGradient};
constexpr RunState kStates[] = {RunState::kQueued, RunState::kRunning, RunState::kFinishing, RunState::kSolved,
                                RunState::kLimit,  RunState::kStopped, RunState::kFailed};

struct Members {
  int64_t all = 0;
  int64_t silent = 0;
  int64_t orders = 0;
};

// "replay_server".
std::string Label(const std::string& name) {
  return absl::StrReplaceAll(name, {{" ", "_"}, {"-", "_"}});
}

void WritePool(const std::vector<v1::PoolMember>& members, PrometheusText* text) {
  std::map<v1::WorkerKind, Members> by_kind;
  for (const v1::PoolMember& member : members) {
    Members& kind = by_kind[member.kind()];
    ++kind.all;
    kind.silent += member.silent_ms() >= kSilentMs ? 1 : 0;
    kind.orders += member.orders_size();
  }
  for (const WorkerKind kind : kKinds) {
    const Members& counts = by_kind[ToProto(kind)];
    const PrometheusText::Labels labels = {{"kind", Label(WorkerKindName(kind))}};
    text->Gauge("waggle_hub_pool_members", "Processes of the pool, by kind.", static_cast<double>(counts.all), labels);
    text->Gauge("waggle_hub_pool_members_silent",
                "Processes of the pool that have not called for five seconds, by kind.",
                static_cast<double>(counts.silent), labels);
    text->Gauge("waggle_hub_pool_orders", "Orders that processes of the pool have, by kind.",
                static_cast<double>(counts.orders), labels);
  }
}

void WriteRunning(const v1::ExperimentInfo& info, PrometheusText* text) {
  const PrometheusText::Labels labels = {{"experiment", info.id()}};
  text->Counter("waggle_hub_experiment_env_steps_total", "Environment steps of a running experiment.",
                static_cast<double>(info.env_steps()), labels);
  text->Counter("waggle_hub_experiment_learner_steps_total", "Learner steps of a running experiment.",
                static_cast<double>(info.learner_steps()), labels);
  text->Gauge("waggle_hub_experiment_workers", "Workers that a running experiment has.",
              static_cast<double>(info.workers()), labels);
  text->Gauge("waggle_hub_experiment_workers_wanted", "Workers that a running experiment wants.",
              static_cast<double>(info.workers_wanted()), labels);
  if (info.has_result() && info.result().has_evaluation()) {
    text->Gauge("waggle_hub_experiment_best_return",
                "The best evaluation's mean return of a running experiment; absent before the first evaluation.",
                info.result().evaluation().mean_return(), labels);
  }
}

}  // namespace

std::vector<ExportedFigure> HubFigures() {
  using Kind = ExportedFigure::Kind;
  return {
      {"models_pushed", "waggle_hub_models_pushed_total", Kind::kCounter, "Weights that learners pushed."},
      {"pushes_refused", "waggle_hub_pushes_refused_total", Kind::kCounter, "Pushed weights that were refused."},
      {"models_pulled", "waggle_hub_models_pulled_total", Kind::kCounter, "Weights that were sent to processes."},
      {"bytes_pulled", "waggle_hub_models_pulled_bytes_total", Kind::kCounter,
       "The bytes of the weights that were sent to processes."},
  };
}

void WriteHostFigures(HostState* host, PrometheusText* text) {
  std::map<RunState, int64_t> states;
  std::vector<v1::PoolMember> members;
  std::vector<v1::ExperimentInfo> running;
  std::map<PoolEvent::Kind, int64_t> events;
  {
    MutexLock lock(&host->mutex);
    for (const auto& [id, record] : host->records) {
      ++states[host->StateOf(record)];
    }
    for (const auto& [id, active] : host->active_runs) {
      if (running.size() < kMostShown) {
        running.push_back(host->View(host->records.at(id)));
      }
    }
    members = host->pool.Members(host->options.clock());
    events = host->pool_events;
  }
  for (const RunState state : kStates) {
    text->Gauge("waggle_hub_experiments", "Experiments, by state.", static_cast<double>(states[state]),
                {{"state", Label(RunStateName(state))}});
  }
  WritePool(members, text);
  for (const auto& [kind, name] :
       std::initializer_list<std::pair<PoolEvent::Kind, const char*>>{{PoolEvent::Kind::kOrdered, "ordered"},
                                                                      {PoolEvent::Kind::kEnded, "ended"},
                                                                      {PoolEvent::Kind::kGaveUp, "gave_up"},
                                                                      {PoolEvent::Kind::kLost, "lost"},
                                                                      {PoolEvent::Kind::kAway, "away"},
                                                                      {PoolEvent::Kind::kRecalled, "recalled"},
                                                                      {PoolEvent::Kind::kHopeless, "hopeless"}}) {
    text->Counter("waggle_hub_pool_events_total",
                  "Events of workers: one got an order, ended it, gave it up after an error, was lost, …",
                  static_cast<double>(events[kind]), {{"event", name}});
  }
  for (const v1::ExperimentInfo& info : running) {
    WriteRunning(info, text);
  }
}

}  // namespace waggle
