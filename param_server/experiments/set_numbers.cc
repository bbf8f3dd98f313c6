#include "param_server/experiments/set_numbers.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "param_server/experiments/output_files.h"

namespace waggle {
namespace {

// The run whose numbers can be set, and its record. FAILED_PRECONDITION if the experiment does not run.
absl::Status FindOpenRun(HostState* host, const std::string& id, ExperimentRecord* record,
                         std::shared_ptr<OpenRun>* run) {
  MutexLock lock(&host->mutex);
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const known, host->Find(id));
  *record = *known;
  const auto active = host->active_runs.find(id);
  const RunState state = host->StateOf(*known);
  if (active == host->active_runs.end() && state == RunState::kRunning) {
    return absl::UnavailableError(absl::StrCat("experiment ", id, " is being opened"));
  }
  if (active == host->active_runs.end() || IsTrainingOver(state)) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", id, " is ", RunStateName(state), "; wanted one that runs"));
  }
  *run = active->second.run;
  return absl::OkStatus();
}

// A change of a running experiment's numbers that is not saved yet.
struct Change {
  ExperimentRecord record;  // With the changed settings.
  std::shared_ptr<OpenRun> run;
  ExperimentTexts texts;
  ChangedSettings changed;
};

// Errors as SetNumbers.
absl::StatusOr<Change> Prepare(HostState* host, const std::string& id,
                               const std::vector<std::pair<std::string, std::string>>& numbers)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->writing) ABSL_LOCKS_EXCLUDED(host->mutex) {
  Change change;
  WAGGLE_RETURN_IF_ERROR(FindOpenRun(host, id, &change.record, &change.run));
  WAGGLE_ASSIGN_OR_RETURN(change.texts, host->store->Texts(id));
  WAGGLE_ASSIGN_OR_RETURN(change.changed, ChangeSettings(change.texts.effective_yaml, change.record.settings, numbers,
                                                         *host->options.algorithms));
  change.record.settings = change.changed.settings;
  return change;
}

std::string TextOf(const std::vector<SettingChange>& changes) {
  return absl::StrJoin(changes, ", ", [](std::string* out, const SettingChange& change) {
    absl::StrAppend(out, change.key, " from ", change.from, " to ", change.to);
  });
}

// Saves the record with its settings, and hands both to the run.
absl::Status Save(HostState* host, Change change, const std::string& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->writing)
    ABSL_LOCKS_EXCLUDED(host->mutex) {
  const ExperimentRecord& record = change.record;
  ExperimentTexts& texts = change.texts;
  WAGGLE_RETURN_IF_ERROR(host->SaveRecord(record, event));
  LogInfo("experiment ", record.id, ": ", event);
  texts.effective_yaml = ToYaml(change.changed.experiment);
  texts.last_overview.clear();
  change.run->hub()->Set({record.settings, texts.effective_yaml, record.membership.exploit});
  if (const absl::Status written = WriteBeginning(record.output_folder, texts.effective_yaml); !written.ok()) {
    LogWarning("experiment ", record.id, ": its experiment.yaml has the earlier numbers: ", written.message());
  }
  MutexLock lock(&host->mutex);
  if (const auto active = host->active_runs.find(record.id); active != host->active_runs.end()) {
    active->second.texts = std::make_shared<const ExperimentTexts>(std::move(texts));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SettingChange>> SetNumbers(HostState* host, const std::string& id,
                                                      const std::vector<std::pair<std::string, std::string>>& numbers,
                                                      bool dry_run) {
  if (numbers.empty()) {
    return absl::InvalidArgumentError(
        "numbers: got none; wanted KEY=VALUE, such as algorithm.optimizer.learning_rate=1e-4");
  }
  MutexLock writing(&host->writing);
  WAGGLE_ASSIGN_OR_RETURN(Change change, Prepare(host, id, numbers));
  std::vector<SettingChange> changes = change.changed.changes;
  if (!dry_run && !changes.empty()) {
    WAGGLE_RETURN_IF_ERROR(Save(host, std::move(change), absl::StrCat("set by a user: ", TextOf(changes))));
  }
  return changes;
}

absl::Status ExploitWinner(HostState* host, const std::string& id, const std::string& winner,
                           const std::string& version,
                           const std::vector<std::pair<std::string, std::string>>& numbers) {
  MutexLock writing(&host->writing);
  WAGGLE_ASSIGN_OR_RETURN(Change change, Prepare(host, id, numbers));
  Membership& membership = change.record.membership;
  membership.exploit = {winner, membership.exploit.serial + 1};
  membership.exploited_at = change.run->hub()->env_steps();
  const std::vector<SettingChange>& changes = change.changed.changes;
  const std::string event = absl::StrCat("takes the weights of ", winner, " at ", version,
                                         changes.empty() ? "" : ", and sets ", TextOf(changes));
  return Save(host, std::move(change), event);
}

absl::StatusOr<ExperimentTexts> PresentTexts(HostState* host, const std::string& id) {
  ExperimentRecord record;
  {
    MutexLock lock(&host->mutex);
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const known, host->Find(id));
    record = *known;
  }
  WAGGLE_ASSIGN_OR_RETURN(ExperimentTexts texts, host->store->Texts(id));
  if (!record.settings.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment, host->Parse(record, texts.effective_yaml));
    texts.effective_yaml = ToYaml(experiment);
  }
  return texts;
}

}  // namespace waggle
