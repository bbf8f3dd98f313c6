// What ExperimentHost shows of its experiments; the rest of the class is in experiment_host.cc.

#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/build_info.h"
#include "common/base/status_macros.h"
#include "common/hub_client/hub_convert.h"
#include "param_server/experiments/experiment_host.h"

namespace waggle {
namespace {

constexpr int64_t kEventsAtATime = 1'000;
// A page goes through so many experiments, whatever their states: it is made under the lock.
constexpr int64_t kMostLookedAt = 10'000;
// In an error.
constexpr size_t kMostNamed = 10;

}  // namespace

absl::StatusOr<std::vector<ExperimentEvent>> ExperimentHost::Events(const std::string& id, uint64_t after) {
  {
    MutexLock lock(&mutex_);
    WAGGLE_RETURN_IF_ERROR(FindRecordLocked(id).status());
  }
  return store_->Events(id, after, kEventsAtATime);
}

absl::StatusOr<ExperimentTexts> ExperimentHost::Texts(const std::string& id) {
  {
    MutexLock lock(&mutex_);
    WAGGLE_RETURN_IF_ERROR(FindRecordLocked(id).status());
  }
  return store_->Texts(id);
}

std::shared_ptr<const ExperimentTexts> ExperimentHost::TextsOfRunning(const std::string& id) {
  MutexLock lock(&mutex_);
  const auto active = active_.find(id);
  return active == active_.end() ? nullptr : active->second.texts;
}

RunState ExperimentHost::StateLocked(const ExperimentRecord& record) const {
  const auto active = active_.find(record.id);
  return active == active_.end() ? record.state : active->second.run->hub()->run_state();
}

ExperimentView ExperimentHost::ViewLocked(const ExperimentRecord& record) const {
  ExperimentView view;
  view.record = record;
  if (const auto active = active_.find(record.id); active != active_.end()) {
    const RunStanding standing = active->second.run->hub()->Standing();
    view.record.state = standing.state;
    view.record.reason = standing.reason;
    view.env_steps = standing.env_steps;
    view.learner_steps = standing.learner_steps;
    view.running = standing.running;
    view.result = standing.result;
    if (const PoolRun* const run = pool_.FindRun(record.id); run != nullptr) {
      view.workers = run->Seated();
      view.workers_wanted = run->Wanted();
      if (const std::string missing = run->Missing(); view.record.reason.empty() && !missing.empty()) {
        view.record.reason = absl::StrCat("waits for ", missing);
      }
    }
    if (!active->second.unclosed.empty()) {
      absl::StrAppend(&view.record.reason, "; it is not closed yet: ", active->second.unclosed);
    }
    return view;
  }
  if (const auto pending = pending_.find(record.id); pending != pending_.end() && !IsOver(record.state)) {
    view.record.reason = pending->second.waits_for;
  }
  if (const auto past = past_.find(record.id); past != past_.end()) {
    view.env_steps = past->second.env_steps;
    view.learner_steps = past->second.learner_steps;
    view.running = past->second.running;
    view.result = past->second.result;
  }
  return view;
}

ExperimentPage ExperimentHost::List(const ExperimentQuery& query) {
  ExperimentPage page;
  int64_t looked_at = 0;
  MutexLock lock(&mutex_);
  for (auto next = std::make_reverse_iterator(by_sequence_.lower_bound(query.before)); next != by_sequence_.rend();
       ++next) {
    if (static_cast<int64_t>(page.views.size()) >= query.limit || ++looked_at > kMostLookedAt) {
      page.next_before = next->first + 1;
      break;
    }
    const ExperimentRecord& record = *next->second;
    if (deleting_.count(record.id) == 0 && (query.states.empty() || query.states.count(StateLocked(record)) > 0)) {
      page.views.push_back(ViewLocked(record));
    }
  }
  return page;
}

absl::StatusOr<ExperimentView> ExperimentHost::Get(const std::string& id) {
  MutexLock lock(&mutex_);
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const record, FindRecordLocked(id));
  return ViewLocked(*record);
}

std::vector<PoolMemberView> ExperimentHost::Members() {
  MutexLock lock(&mutex_);
  return pool_.Members(options_.clock());
}

absl::StatusOr<std::shared_ptr<RunServices>> ExperimentHost::Find(const std::string& id) {
  MutexLock lock(&mutex_);
  const auto active = id.empty() && active_.size() == 1 ? active_.begin() : active_.find(id);
  if (active != active_.end()) {
    return OpenRun::Services(active->second.run);
  }
  if (const auto record = records_.find(id); record != records_.end() && record->second.state == RunState::kRunning) {
    return absl::UnavailableError(absl::StrCat("experiment ", id, " is being opened"));
  }
  return absl::NotFoundError(absl::StrCat("no experiment \"", absl::CHexEscape(id), "\" runs here"));
}

absl::StatusOr<v1::OverviewResponse> ExperimentHost::PastOverview(const std::string& id) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string known, OnlyOne(id));
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentTexts texts, Texts(known));
  v1::OverviewResponse overview;
  if (!texts.last_overview.empty() && !overview.ParseFromString(texts.last_overview)) {
    return absl::DataLossError(absl::StrCat("what was kept of experiment ", known, " cannot be read"));
  }
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentView view, Get(known));
  if (view.record.state == RunState::kRunning && view.record.reason.empty()) {
    // How far it is will be known in a moment: until then, numbers of steps would be wrong.
    return absl::UnavailableError(absl::StrCat("experiment ", known, " is being opened"));
  }
  overview.set_experiment_id(known);
  overview.set_run_state(ToProto(view.record.state));
  overview.set_outcome_reason(view.record.reason);
  overview.set_experiment_name(view.record.name);
  overview.set_experiment_yaml(texts.effective_yaml);
  overview.set_software_version(kVersion);
  return overview;
}

absl::StatusOr<std::string> ExperimentHost::OnlyOne(const std::string& id) {
  MutexLock lock(&mutex_);
  if (!id.empty()) {
    return id;
  }
  if (active_.empty() && records_.size() == 1) {
    return records_.begin()->first;
  }
  std::vector<std::string> ids;  // The newest first.
  for (auto one = by_sequence_.rbegin(); one != by_sequence_.rend() && ids.size() <= kMostNamed; ++one) {
    if (active_.empty() || active_.count(one->second->id) > 0) {
      ids.push_back(one->second->id);
    }
  }
  if (ids.size() > kMostNamed) {
    ids.back() = "…";
  }
  return ids.empty() ? absl::NotFoundError("there is no experiment")
                     : absl::FailedPreconditionError(
                           absl::StrCat("there are several experiments; name one of ", absl::StrJoin(ids, ", ")));
}

}  // namespace waggle
