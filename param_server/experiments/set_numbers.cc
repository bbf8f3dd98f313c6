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

std::string TextOf(const std::vector<SettingChange>& changes) {
  return absl::StrJoin(changes, ", ", [](std::string* out, const SettingChange& change) {
    absl::StrAppend(out, change.key, " from ", change.from, " to ", change.to);
  });
}

// Saves the record with these settings, and hands both to the run.
absl::Status SaveChange(HostState* host, const ExperimentRecord& record, const std::string& event,
                        const ChangedSettings& changed, ExperimentTexts texts, OpenRun* run)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(host->writing) ABSL_LOCKS_EXCLUDED(host->mutex) {
  WAGGLE_RETURN_IF_ERROR(host->SaveRecord(record, event));
  LogInfo("experiment ", record.id, ": ", event);
  texts.effective_yaml = ToYaml(changed.experiment);
  texts.last_overview.clear();
  run->hub()->Set({record.settings, texts.effective_yaml, record.membership.exploit});
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
  ExperimentRecord record;
  std::shared_ptr<OpenRun> run;
  WAGGLE_RETURN_IF_ERROR(FindOpenRun(host, id, &record, &run));
  WAGGLE_ASSIGN_OR_RETURN(ExperimentTexts texts, host->store->Texts(id));
  WAGGLE_ASSIGN_OR_RETURN(const ChangedSettings changed,
                          ChangeSettings(texts.effective_yaml, record.settings, numbers, *host->options.algorithms));
  if (dry_run || changed.changes.empty()) {
    return changed.changes;
  }
  record.settings = changed.settings;
  WAGGLE_RETURN_IF_ERROR(SaveChange(host, record, absl::StrCat("set by a user: ", TextOf(changed.changes)), changed,
                                    std::move(texts), run.get()));
  return changed.changes;
}

absl::Status ExploitWinner(HostState* host, const std::string& id, const std::string& winner,
                           const std::string& version,
                           const std::vector<std::pair<std::string, std::string>>& numbers) {
  MutexLock writing(&host->writing);
  ExperimentRecord record;
  std::shared_ptr<OpenRun> run;
  WAGGLE_RETURN_IF_ERROR(FindOpenRun(host, id, &record, &run));
  WAGGLE_ASSIGN_OR_RETURN(ExperimentTexts texts, host->store->Texts(id));
  WAGGLE_ASSIGN_OR_RETURN(const ChangedSettings changed,
                          ChangeSettings(texts.effective_yaml, record.settings, numbers, *host->options.algorithms));
  record.settings = changed.settings;
  record.membership.exploit = {winner, record.membership.exploit.serial + 1};
  record.membership.exploited_at = run->hub()->env_steps();
  const std::string event = absl::StrCat("takes the weights of ", winner, " at ", version,
                                         changed.changes.empty() ? "" : ", and sets ", TextOf(changed.changes));
  return SaveChange(host, record, event, changed, std::move(texts), run.get());
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
