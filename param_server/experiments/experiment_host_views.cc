// What ExperimentHost shows of its experiments; the rest of the class is in experiment_host.cc.
// No test of its own: tests/param_server/experiments/experiment_host_test.cc sees it.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/build_info.h"
#include "common/base/status_macros.h"
#include "common/hub_client/hub_convert.h"
#include "param_server/experiments/experiment_host.h"

namespace waggle {
namespace {

constexpr int64_t kEventsAtATime = 1'000;

}  // namespace

absl::StatusOr<std::vector<ExperimentEvent>> ExperimentHost::Events(const std::string& id, uint64_t after) {
  {
    MutexLock lock(&mutex_);
    WAGGLE_RETURN_IF_ERROR(FindRecordLocked(id).status());
  }
  return store_->Events(id, after, kEventsAtATime);
}

ExperimentView ExperimentHost::ViewLocked(const ExperimentRecord& record) {
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
    view.workers = pool_.Seated(record.id);
    view.workers_wanted = pool_.Wanted(record.id);
    if (const std::string missing = pool_.Missing(record.id); view.record.reason.empty() && !missing.empty()) {
      view.record.reason = absl::StrCat("waits for ", missing);
    }
    return view;
  }
  if (const auto waits_for = waits_for_.find(record.id);
      record.state == RunState::kQueued && waits_for != waits_for_.end()) {
    view.record.reason = waits_for->second;
  } else if (const auto postponed = postponed_.find(record.id); postponed != postponed_.end()) {
    view.record.reason = postponed->second.why;
  }
  if (const auto past = past_.find(record.id); past != past_.end()) {
    view.env_steps = past->second.env_steps;
    view.learner_steps = past->second.learner_steps;
    view.running = past->second.running;
    view.result = past->second.result;
  }
  return view;
}

std::vector<ExperimentView> ExperimentHost::List() {
  MutexLock lock(&mutex_);
  std::vector<ExperimentView> views;
  for (const auto& [id, record] : records_) {
    if (deleting_.count(id) == 0) {
      views.push_back(ViewLocked(record));
    }
  }
  std::sort(views.begin(), views.end(),
            [](const ExperimentView& a, const ExperimentView& b) { return a.record.sequence < b.record.sequence; });
  return views;
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

std::shared_ptr<RunServices> ExperimentHost::Find(const std::string& id) {
  MutexLock lock(&mutex_);
  const auto active = id.empty() && active_.size() == 1 ? active_.begin() : active_.find(id);
  return active == active_.end() ? nullptr : OpenRun::Services(active->second.run);
}

absl::StatusOr<v1::OverviewResponse> ExperimentHost::PastOverview(const std::string& id) {
  MutexLock lock(&mutex_);
  const ExperimentRecord* record = nullptr;
  if (!id.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(record, FindRecordLocked(id));
  } else if (active_.empty() && records_.size() == 1) {
    record = &records_.begin()->second;
  } else {
    std::vector<std::string> ids;
    for (const auto& [one, other] : records_) {
      if (active_.empty() || active_.count(one) > 0) {
        ids.push_back(one);
      }
    }
    return ids.empty() ? absl::NotFoundError("there is no experiment")
                       : absl::FailedPreconditionError(
                             absl::StrCat("there are several experiments; name one of ", absl::StrJoin(ids, ", ")));
  }
  v1::OverviewResponse overview;
  if (!record->last_overview.empty() && !overview.ParseFromString(record->last_overview)) {
    return absl::DataLossError(absl::StrCat("what was kept of experiment ", record->id, " cannot be read"));
  }
  const ExperimentView view = ViewLocked(*record);
  overview.set_experiment_id(record->id);
  overview.set_run_state(ToProto(view.record.state));
  overview.set_outcome_reason(view.record.reason);
  overview.set_experiment_name(record->name);
  overview.set_experiment_yaml(record->effective_yaml);
  overview.set_software_version(kVersion);
  return overview;
}

}  // namespace waggle
