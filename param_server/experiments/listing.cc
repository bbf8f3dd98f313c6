#include "param_server/experiments/listing.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/hub/hub_convert.h"

namespace waggle {
namespace {

// Most experiments that a page goes through, as it is made under the lock.
constexpr int64_t kMostLookedAt = 10'000;
// Ids in an error.
constexpr size_t kMostNamed = 10;

bool Passes(HostState* host, const ExperimentRecord& record, const ExperimentQuery& query)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->mutex) {
  const ExperimentLabels& labels = record.labels;
  const bool has_tags = std::all_of(query.tags.begin(), query.tags.end(), [&labels](const std::string& tag) {
    return std::find(labels.tags.begin(), labels.tags.end(), tag) != labels.tags.end();
  });
  return host->deleting.count(record.id) == 0 && has_tags && (query.group.empty() || query.group == labels.group) &&
         (query.owner.empty() || query.owner == labels.owner) && (query.name.empty() || query.name == record.name) &&
         (query.states.empty() || query.states.count(host->StateOf(record)) > 0);
}

bool IsOverNow(const v1::ExperimentInfo& info) {
  return IsOver(FromProto(info.state()).value_or(RunState::kNoExperiment));
}

}  // namespace

v1::ExperimentGroup Summarize(const std::vector<v1::ExperimentInfo>& members) {
  const v1::ExperimentInfo& first = members.front();
  v1::ExperimentGroup group;
  group.set_id(first.group());
  group.set_name(first.name());
  group.set_algorithm(first.algorithm());
  group.set_environment(first.environment());
  group.set_is_population(!first.population().empty());
  group.set_members(static_cast<uint32_t>(members.size()));
  group.set_submitted_at_us(first.submitted_at_us());
  *group.mutable_tags() = first.tags();
  group.set_owner(first.owner());
  std::map<v1::RunState, uint32_t> states;
  const v1::ExperimentInfo* highest = nullptr;
  for (const v1::ExperimentInfo& member : members) {
    ++states[member.state()];
    group.set_env_steps(group.env_steps() + member.env_steps());
    group.set_learner_steps(group.learner_steps() + member.learner_steps());
    group.set_workers(group.workers() + member.workers());
    group.set_workers_wanted(group.workers_wanted() + member.workers_wanted());
    // A member that has not ended ranks above those that have, whatever their priorities.
    const auto rank = [](const v1::ExperimentInfo& one) { return std::make_pair(!IsOverNow(one), one.priority()); };
    highest = highest == nullptr || rank(*highest) < rank(member) ? &member : highest;
    if (group.reason().empty() && member.state() == v1::RUN_STATE_QUEUED) {
      group.set_reason(member.reason());
    }
    if (member.has_result() &&
        (!group.has_best() || group.best().evaluation().mean_return() < member.result().evaluation().mean_return())) {
      group.set_best_id(member.id());
      *group.mutable_best() = member.result();
      *group.mutable_best_settings() = member.settings();
    }
  }
  group.set_priority(highest->priority());
  for (const auto& [state, count] : states) {
    v1::ExperimentGroup::StateCount* const counted = group.add_states();
    counted->set_state(state);
    counted->set_count(count);
  }
  return group;
}

v1::ListExperimentsResponse ListExperiments(HostState* host, const ExperimentQuery& query) {
  v1::ListExperimentsResponse page;
  int64_t looked_at = 0;
  auto next = std::make_reverse_iterator(host->by_sequence.lower_bound(query.before));
  while (next != host->by_sequence.rend()) {
    if (page.experiments_size() + page.groups_size() >= query.limit || ++looked_at > kMostLookedAt) {
      page.set_next_page_token(absl::StrCat(next->first + 1));
      break;
    }
    const ExperimentRecord& record = *next->second;
    const std::string& group = record.labels.group;
    if (!query.fold_groups || group.empty()) {
      if (Passes(host, record, query)) {
        *page.add_experiments() = host->View(record);
      }
      ++next;
      continue;
    }
    // The members of a group follow each other, because they were submitted together.
    bool passes = false;
    std::vector<v1::ExperimentInfo> members;
    for (; next != host->by_sequence.rend() && next->second->labels.group == group; ++next, ++looked_at) {
      if (host->deleting.count(next->second->id) == 0) {
        members.push_back(host->View(*next->second));
        passes = passes || Passes(host, *next->second, query);
      }
    }
    if (passes) {
      std::reverse(members.begin(), members.end());
      *page.add_groups() = Summarize(members);
    }
  }
  return page;
}

absl::StatusOr<v1::ResolveResponse> ResolveWord(HostState* host, const std::string& word) {
  if (word.empty()) {
    return absl::InvalidArgumentError("word: got an empty one; wanted an id, or the beginning of one");
  }
  v1::ResolveResponse found;
  if (host->Find(word).ok()) {
    found.add_ids(word);
    return found;
  }
  // The ids that the word may stand for, of groups that begin so and of other experiments, with their experiments.
  std::map<std::string, std::map<int64_t, std::string>> candidates;
  for (auto one = host->records.lower_bound(word); one != host->records.end() && absl::StartsWith(one->first, word);
       ++one) {
    const std::string& group = one->second.labels.group;
    if (host->deleting.count(one->first) == 0) {
      candidates[absl::StartsWith(group, word) ? group : one->first][one->second.sequence] = one->first;
    }
  }
  if (candidates.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there is no experiment \"", absl::CHexEscape(word), "\", and none whose id begins so"));
  }
  if (candidates.size() > 1) {
    std::vector<std::string> named;
    for (const auto& [id, experiments] : candidates) {
      named.push_back(named.size() < kMostNamed ? id : "…");
      if (named.size() > kMostNamed) {
        break;
      }
    }
    return absl::FailedPreconditionError(absl::StrCat("several ids begin with \"", absl::CHexEscape(word),
                                                      "\": ", absl::StrJoin(named, ", "), "; give more of one"));
  }
  const auto& [id, experiments] = *candidates.begin();
  for (const auto& [sequence, experiment] : experiments) {
    found.add_ids(experiment);
  }
  found.set_group(host->records.count(id) > 0 ? "" : id);
  return found;
}

}  // namespace waggle
