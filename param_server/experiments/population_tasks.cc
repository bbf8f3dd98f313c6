#include "param_server/experiments/population_tasks.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "param_server/experiments/population.h"
#include "param_server/experiments/set_numbers.h"

namespace waggle {
namespace {

// A running member, and the multiples of `every` that its environment steps have passed.
struct RunningMember {
  std::string id;
  ActiveRun* active = nullptr;
  int64_t passed = 0;
};

std::map<std::string, std::vector<RunningMember>> RunningPopulations(HostState* host)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex) {
  std::map<std::string, std::vector<RunningMember>> populations;
  for (auto& [id, active] : host->active_runs) {
    if (!active.population.is_given() || active.run->hub()->run_state() != RunState::kRunning) {
      continue;
    }
    populations[host->records.at(id).membership.population].push_back(
        {id, &active, active.run->hub()->env_steps() / active.population.every});
  }
  return populations;
}

// The exchanges of a population. Members that were compared are not due until the next multiple of `every`.
std::vector<Exploitation> Compare(HostState* host, const std::vector<RunningMember>& running)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex) {
  std::vector<PopulationMember> members;
  std::vector<const RunningMember*> compared;
  bool any_due = false;
  for (const RunningMember& one : running) {
    any_due = any_due || one.passed > one.active->compared;
  }
  if (!any_due) {
    return {};
  }
  for (const RunningMember& one : running) {
    const Membership& membership = host->records.at(one.id).membership;
    const std::optional<Evaluation> newest = one.active->run->hub()->Standing().newest_evaluation;
    // An evaluation of the weights before the last exchange says nothing about the present ones.
    const bool is_known = newest.has_value() && (membership.exploit.serial == 0 ||
                                                 static_cast<int64_t>(newest->env_steps) > membership.exploited_at);
    if (is_known) {
      members.push_back({one.id, newest->mean_return, one.passed > one.active->compared});
      compared.push_back(&one);
    }
  }
  if (members.size() < 2) {
    return {};  // Members that are due wait for others.
  }
  for (const RunningMember* const one : compared) {
    one->active->compared = one->passed;
  }
  return ChooseExploitations(std::move(members), &host->rng);
}

absl::Status Exchange(HostState* host, const Exploitation& exploitation) {
  const std::string& winner = exploitation.winner;
  std::shared_ptr<OpenRun> run;
  std::shared_ptr<const ExperimentTexts> texts;
  ExperimentRecord record;
  {
    MutexLock lock(&host->mutex);
    const auto active = host->active_runs.find(winner);
    if (active == host->active_runs.end()) {
      return absl::FailedPreconditionError(absl::StrCat("experiment ", winner, " does not run any more"));
    }
    run = active->second.run;
    texts = active->second.texts;
    record = host->records.at(winner);
  }
  const std::shared_ptr<const StoredModel> weights = OpenRun::Services(run)->models->Newest(record.name);
  if (weights == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("experiment ", winner, " has no weights"));
  }
  // The texts have the winner's present numbers.
  WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment,
                          ParseStoredExperiment(texts->effective_yaml, winner, {}, *host->options.algorithms));
  PopulationNumbers numbers;
  {
    MutexLock lock(&host->mutex);
    numbers = Explore(experiment, &host->rng);
  }
  return ExploitWinner(host, exploitation.loser, winner, DebugString(weights->snapshot.version), numbers);
}

}  // namespace

void FollowPopulations(HostState* host, absl::Time now) {
  std::vector<Exploitation> exploitations;
  {
    MutexLock lock(&host->mutex);
    if (!host->CanWrite(now)) {
      return;
    }
    for (const auto& [name, running] : RunningPopulations(host)) {
      for (Exploitation& one : Compare(host, running)) {
        exploitations.push_back(std::move(one));
      }
    }
  }
  for (const Exploitation& one : exploitations) {
    const auto exchange = [host, one] {
      if (const absl::Status done = Exchange(host, one); !done.ok()) {
        const std::string text = absl::StrCat("keeps its weights and numbers, and does not take those of ", one.winner,
                                              ": ", done.message());
        LogWarning("experiment ", one.loser, ": ", text);
        host->Note(one.loser, text);
      }
    };
    if (const absl::Status queued = host->executor->Submit(exchange); !queued.ok()) {
      LogWarning("experiment ", one.loser, ": is compared later: ", queued.message());
    }
  }
}

}  // namespace waggle
