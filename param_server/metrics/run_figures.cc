#include "param_server/metrics/run_figures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "param_server/run/hub.h"

namespace waggle {
namespace {

// The hub counts the run's steps. A sum over present workers would fall when the hub forgets one, and would count a
// restored learner's steps twice.
constexpr absl::string_view kEnvSteps = "env_steps";
constexpr absl::string_view kLearnerSteps = "learner_steps";

const char* Group(Role role) {
  switch (role) {
    case Role::kReplayServer:
      return "replay";
    case Role::kParamServer:
      return "hub";
    default:
      return RoleName(role);
  }
}

// False for parts of means and histograms, and for dates: their rates mean nothing. A process's memory is its own: a
// process may work for several runs.
bool IsFigure(const std::string& name) {
  return name != "resident_bytes" && !absl::StartsWith(name, "policy_lag/") && !absl::EndsWith(name, "_sum") &&
         !absl::EndsWith(name, "_unix_seconds");
}

// Moves `at` to the first entry that is not before `name`. A thousand workers have the same names in the same order, so
// this takes a fifth of the time of lookups.
template <class Iterator>
bool MoveTo(const std::string& name, Iterator end, Iterator* at) {
  int order = -1;
  while (*at != end && (order = (*at)->first.compare(name)) < 0) {
    ++*at;
  }
  return *at != end && order == 0;
}

template <class Value>
Value& EntryOf(const std::string& name, std::map<std::string, Value>* entries,
               typename std::map<std::string, Value>::iterator* at) {
  if (!MoveTo(name, entries->end(), at)) {
    *at = entries->emplace_hint(*at, name, Value());
  }
  return (*at)->second;
}

// The reports of one role's processes.
class RoleFigures {
 public:
  void Add(const WorkerView& worker) {
    auto rate = worker.rates->begin();
    auto counter = counters_.begin();
    for (const auto& [name, value] : worker.figures->counters) {
      Counter& sum = EntryOf(name, &counters_, &counter);
      sum.value += value;
      if (worker.current) {
        const bool known = MoveTo(name, worker.rates->end(), &rate);
        sum.current = true;
        sum.rate += known ? rate->second : 0;
        sum.unknown_rates += known ? 0 : 1;
      }
    }
    if (!worker.current) {
      return;
    }
    ++current_;
    auto gauge = gauges_.begin();
    for (const auto& [name, value] : worker.figures->gauges) {
      if (!std::isnan(value)) {
        Gauge& mean = EntryOf(name, &gauges_, &gauge);
        mean.sum += value;
        ++mean.count;
      }
    }
  }

  // Counters of workers that were lost with all others. They are known although no process of the role has joined yet.
  void AddEarlier(const std::map<std::string, double>& counters) {
    has_earlier_ = true;
    for (const auto& [name, value] : counters) {
      counters_[name].value += value;
    }
  }

  // The role's figures are known only if `wanted` processes are current.
  void WriteTo(Role role, int64_t wanted, Figures* figures) const {
    const std::string group = absl::StrCat(Group(role), "/");
    for (const auto& [name, counter] : counters_) {
      const bool is_known = current_ >= wanted || has_earlier_;
      if (is_known && IsFigure(name) && name != kEnvSteps && name != kLearnerSteps) {
        (*figures)[group + name] = counter.value;
      }
      if (counter.current && current_ - counter.unknown_rates >= wanted && IsFigure(name)) {
        (*figures)[absl::StrCat(group, name == kLearnerSteps ? "steps" : name, "_per_s")] = counter.rate;
      }
    }
    for (const auto& [name, gauge] : gauges_) {
      if (current_ >= wanted && IsFigure(name)) {
        const double count = role == Role::kReplayServer ? 1 : static_cast<double>(gauge.count);
        (*figures)[absl::StrContains(name, '/') ? name : group + name] = gauge.sum / count;
      }
    }
  }

  bool any_current() const { return current_ > 0; }

 private:
  struct Gauge {
    double sum = 0;
    int64_t count = 0;
  };

  struct Counter {
    double value = 0;
    double rate = 0;
    bool current = false;       // A current process counts it.
    int64_t unknown_rates = 0;  // Processes that count it and have no rate yet.
  };

  int64_t current_ = 0;
  bool has_earlier_ = false;
  std::map<std::string, Counter> counters_;
  std::map<std::string, Gauge> gauges_;
};

}  // namespace

Figures RunFigures(const HubOverview& overview, const std::set<Role>& left_out) {
  std::map<Role, RoleFigures> roles;
  for (const WorkerView& worker : overview.workers) {
    if (left_out.count(worker.introduction.role) == 0) {
      roles[worker.introduction.role].Add(worker);
    }
  }
  for (const auto& [role, counters] : overview.earlier_counters) {
    if (left_out.count(role) == 0) {
      roles[role].AddEarlier(counters);
    }
  }
  Figures figures;
  for (const auto& [role, reported] : roles) {
    const int64_t wanted = role == Role::kReplayServer ? std::max<int64_t>(1, overview.replay_servers) : 1;
    reported.WriteTo(role, wanted, &figures);
  }
  if (roles[Role::kActor].any_current()) {
    figures["actor/env_steps"] = static_cast<double>(overview.env_steps);
  }
  if (roles[Role::kLearner].any_current()) {
    figures["learner/steps"] = static_cast<double>(overview.learner_steps);
  }
  if (overview.model_version.has_value()) {
    figures["model/epoch"] = static_cast<double>(overview.model_version->epoch);
    figures["model/version"] = static_cast<double>(overview.model_version->version);
    figures["model/bytes"] = static_cast<double>(overview.model_bytes);
  }
  return figures;
}

Figures EvaluationFigures(const Evaluation& evaluation) {
  return {{"evaluation/episodes", static_cast<double>(evaluation.episodes)},
          {"evaluation/version", static_cast<double>(evaluation.version.version)},
          {"evaluation/env_steps", static_cast<double>(evaluation.env_steps)},
          {"evaluation/mean_return", evaluation.mean_return},
          {"evaluation/standard_deviation", evaluation.standard_deviation},
          {"evaluation/mean_length", evaluation.mean_length},
          {"evaluation/min_return", evaluation.min_return},
          {"evaluation/max_return", evaluation.max_return}};
}

}  // namespace waggle
