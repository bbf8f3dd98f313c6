#include "param_server/metrics/run_figures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "param_server/workers/hub.h"

namespace waggle {
namespace {

// The run's steps are the hub's to say: a sum over those that it knows now would fall when it forgets one, and counts
// again what a learner was restored with.
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

// What a mean or a histogram is made of, and dates, say nothing over time.
bool IsFigure(const std::string& name) {
  return !absl::StartsWith(name, "policy_lag/") && !absl::EndsWith(name, "_sum") &&
         !absl::EndsWith(name, "_unix_seconds");
}

// What the processes of one role report.
class RoleFigures {
 public:
  void Add(const WorkerView& worker) {
    for (const auto& [name, value] : worker.figures.counters) {
      counters_[name] += value;
    }
    if (!worker.current) {
      return;
    }
    ++current_;
    for (const auto& [name, value] : worker.figures.gauges) {
      if (!std::isnan(value)) {
        gauges_[name].sum += value;
        ++gauges_[name].count;
      }
    }
    for (const auto& [name, value] : worker.figures.counters) {
      const auto rate = worker.rates.find(name);
      rates_[name].sum += rate == worker.rates.end() ? 0 : rate->second;
      rates_[name].unknown += rate == worker.rates.end() ? 1 : 0;
    }
  }

  // `wanted` processes must be current for a figure of the role to be known.
  void WriteTo(Role role, int64_t wanted, Figures* figures) const {
    const std::string group = absl::StrCat(Group(role), "/");
    for (const auto& [name, value] : counters_) {
      if (current_ >= wanted && IsFigure(name) && name != kEnvSteps && name != kLearnerSteps) {
        (*figures)[group + name] = value;
      }
    }
    for (const auto& [name, rate] : rates_) {
      if (current_ - rate.unknown >= wanted && IsFigure(name)) {
        (*figures)[absl::StrCat(group, name == kLearnerSteps ? "steps" : name, "_per_s")] = rate.sum;
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

  struct Rate {
    double sum = 0;
    int64_t unknown = 0;  // Processes that count it and have no rate of it yet.
  };

  int64_t current_ = 0;
  std::map<std::string, double> counters_;
  std::map<std::string, Rate> rates_;
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
