#include "param_server/experiments/resume.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "param_server/experiments/later_limits.h"
#include "param_server/run/cut_folder.h"

namespace waggle {
namespace {

RunReach ReachOf(const RunStanding& past, bool solved) {
  RunReach reach;
  reach.env_steps = static_cast<int64_t>(past.env_steps);
  reach.learner_steps = static_cast<int64_t>(past.learner_steps);
  reach.running = past.running;
  if (solved && past.result.has_value()) {
    reach.confirmed_return = past.result->evaluation.mean_return;
  }
  return reach;
}

}  // namespace

absl::Status ResumeClosed(HostState* host, const std::string& id, const SettingValues& limits, uint64_t cut) {
  MutexLock writing(&host->writing);
  ExperimentRecord record;
  RunStanding past;
  {
    MutexLock lock(&host->mutex);
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const known, host->Find(id));
    record = *known;
    if (!IsOver(host->StateOf(record))) {
      return absl::FailedPreconditionError(absl::StrCat("experiment ", id, " is ", RunStateName(host->StateOf(record)),
                                                        "; only experiments that have ended can be resumed"));
    }
    if (const auto found = host->past_standings.find(id); found != host->past_standings.end()) {
      past = found->second;
    }
  }
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentTexts texts, host->store->Texts(id));
  std::string event = "resumed by a user: in the queue again";
  if (!limits.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(const ChangedSettings changed,
                            ChangeLimits(texts.effective_yaml, record.settings, limits, *host->options.algorithms));
    record.settings = changed.settings;
    for (const SettingChange& change : changed.changes) {
      absl::StrAppend(&event, ", ", change.key, " from ", change.from, " to ", change.to);
    }
  }
  const absl::StatusOr<Experiment> experiment = host->Parse(record, texts.effective_yaml);
  if (experiment.ok() && cut == 0) {
    WAGGLE_RETURN_IF_ERROR(Annotate(CheckGoesOn(experiment->stop, ReachOf(past, record.state == RunState::kSolved)),
                                    absl::StrCat("experiment ", id)));
  }
  const CutFolder cuts({absl::StrCat(host->RunFolder(id), "/hub"), record.output_folder});
  if (cut != 0) {
    WAGGLE_RETURN_IF_ERROR(cuts.RequestReturn(cut));
    absl::StrAppend(&event, ", from cut ", cut);
  } else {
    WAGGLE_RETURN_IF_ERROR(cuts.EndReturn());  // An earlier resume may have asked for a return.
  }
  record.state = RunState::kQueued;
  record.reason.clear();
  record.ended.reset();
  record.software_version = kVersion;
  WAGGLE_RETURN_IF_ERROR(host->SaveRecord(record, event));
  LogInfo("experiment ", id, ": ", event);
  MutexLock lock(&host->mutex);
  host->pending_runs[id].needs = experiment.ok() ? std::make_optional(host->Needs(record, *experiment)) : std::nullopt;
  return absl::OkStatus();
}

absl::Status ChangePriority(HostState* host, const std::string& id, int64_t priority) {
  WAGGLE_RETURN_IF_ERROR(CheckPriority(priority));
  MutexLock writing(&host->writing);
  ExperimentRecord record;
  {
    MutexLock lock(&host->mutex);
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const known, host->Find(id));
    record = *known;
    if (const RunState state = host->StateOf(record); IsOver(state)) {
      return absl::FailedPreconditionError(
          absl::StrCat("experiment ", id, " is ", RunStateName(state), "; only the priority of others can change"));
    }
  }
  const int64_t before = std::exchange(record.priority, priority);
  if (before == priority) {
    return absl::OkStatus();
  }
  const std::string event = absl::StrCat("set by a user: priority from ", before, " to ", priority);
  WAGGLE_RETURN_IF_ERROR(host->SaveRecord(record, event));
  LogInfo("experiment ", id, ": ", event);
  MutexLock lock(&host->mutex);
  if (const auto pending = host->pending_runs.find(id);
      pending != host->pending_runs.end() && pending->second.needs.has_value()) {
    pending->second.needs->priority = priority;
  }
  host->pool.SetPriority(id, priority);
  return absl::OkStatus();
}

absl::Status CheckPriority(int64_t priority) {
  return priority >= -kMaxExperimentPriority && priority <= kMaxExperimentPriority
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("priority: got ", priority, "; wanted ", -kMaxExperimentPriority,
                                                       " to ", kMaxExperimentPriority));
}

}  // namespace waggle
