#include "param_server/experiments/run_tasks.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/hub/hub_convert.h"
#include "param_server/experiments/output_files.h"
#include "param_server/run/cut_folder.h"
#include "param_server/run/hub_state.h"
#include "param_server/services/overview_convert.h"

namespace waggle {
namespace {

// Pause after a failed attempt to open a run; doubles with each attempt, up to the longest.
constexpr absl::Duration kOpenPause = absl::Seconds(1);
constexpr absl::Duration kLongestOpenPause = absl::Seconds(10);

// True if the saved data of an experiment are the cause of an error, so that each further attempt would fail too.
bool IsOfItsData(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
}

absl::Status GiveUpOrPostpone(HostState* host, const std::string& id, const absl::Status& why, bool final) {
  MutexLock writing(&host->writing);
  std::optional<ExperimentRecord> known = host->RecordUnlessOver(id);
  if (!known.has_value()) {  // It was stopped meanwhile.
    return absl::OkStatus();
  }
  ExperimentRecord& record = *known;
  if (final) {
    LogError("experiment ", id, " cannot begin: ", why.message());
    record.state = RunState::kFailed;
    record.reason = absl::StrCat("it cannot begin: ", why.message());
    record.ended = absl::Now();
    return host->SaveRecord(record, record.reason);
  }
  const std::string text = absl::StrCat(
      record.state == RunState::kRunning ? "it cannot go on yet: " : "it cannot begin yet: ", why.message());
  bool news = false;
  {
    MutexLock lock(&host->mutex);
    PendingRun& pending = host->pending_runs.at(id);
    news = std::exchange(pending.failure, text) != text;
    pending.waits_for = text;
    pending.pause = std::clamp(2 * pending.pause, kOpenPause, kLongestOpenPause);
    pending.retry_at = host->options.clock() + pending.pause;
  }
  if (news) {
    LogError("experiment ", id, ": ", text);
    host->Note(id, text);
  }
  return absl::OkStatus();
}

std::string FolderOfHub(const HostState* host, const std::string& id) {
  return absl::StrCat(host->RunFolder(id), "/hub");
}

absl::StatusOr<std::shared_ptr<OpenRun>> OpenRunOf(HostState* host, const ExperimentRecord& record,
                                                   const std::string& effective_yaml, const Experiment& experiment) {
  OpenRunOptions options;
  options.experiment_id = record.id;
  options.folder = FolderOfHub(host, record.id);
  options.output_folder = record.output_folder;
  options.plan = PlanRun(experiment, effective_yaml);
  if (!record.settings.empty()) {
    options.plan.settings = {record.settings, ToYaml(experiment)};
  }
  options.plan.settings.exploit = record.membership.exploit;
  options.self = host->options.self;
  options.note = [host, id = record.id](const std::string& text) { host->Note(id, text); };
  options.figures = host->options.figures;
  options.draw_curves = host->options.draw_curves;
  options.resume = record.state == RunState::kQueued && record.attempts > 0;
  return OpenRun::Open(std::move(options));
}

absl::Status BeginOpen(HostState* host, const std::string& id, std::shared_ptr<OpenRun> run, ExperimentTexts texts,
                       RunNeeds needs, const PopulationOptions& population) {
  ActiveRun active;  // Destroyed outside the locks if it does not begin.
  active.run = std::move(run);
  active.population = population;
  if (population.is_given()) {  // It is compared at the next multiple.
    active.compared = active.run->hub()->env_steps() / population.every;
  }
  texts.last_overview.clear();  // It belongs to an earlier attempt.
  texts.effective_yaml = active.run->hub()->present_yaml();
  active.texts = std::make_shared<const ExperimentTexts>(std::move(texts));
  active.subscription = active.run->hub()->Watch([wake = host->wake] { wake->Up(); });
  MutexLock writing(&host->writing);
  std::optional<ExperimentRecord> known = host->RecordUnlessOver(id);
  if (!known.has_value()) {  // It was stopped meanwhile.
    return absl::OkStatus();
  }
  ExperimentRecord& record = *known;
  const bool restored = record.state == RunState::kRunning;
  const bool resumed = !restored && record.attempts > 0;
  const bool returned = active.run->returned();
  if (!restored) {
    record.state = RunState::kRunning;
    record.started = record.started.has_value() ? record.started : absl::Now();
    ++record.attempts;
  }
  WAGGLE_RETURN_IF_ERROR(host->SaveRecord(record, returned   ? "goes on from a cut"
                                                  : restored ? "goes on with a parameter server that has started again"
                                                  : resumed  ? "goes on"
                                                             : "begins"));
  WAGGLE_RETURN_IF_ERROR(active.run->EndReturn());
  LogInfo("experiment ", id, restored || resumed ? " goes on" : " begins", ", its files go to ", record.output_folder);
  needs.priority = record.priority;  // It may have changed meanwhile.
  MutexLock lock(&host->mutex);
  host->active_runs[id] = std::move(active);
  host->pool.Begin(needs, restored ? record.replay_storage : std::map<int64_t, std::string>(), restored && !returned);
  return absl::OkStatus();
}

// Lets users see how far a run has got before it is open, which a full disk may prevent for long.
void NoteProgress(HostState* host, const std::string& id) {
  const absl::StatusOr<HubRecord> saved = HubState::Read(FolderOfHub(host, id));
  if (!saved.ok()) {
    return;  // Opening the run will tell.
  }
  MutexLock lock(&host->mutex);
  RunStanding& past = host->past_standings[id];
  past.env_steps = static_cast<uint64_t>(saved->progress.env_steps);
  past.learner_steps = static_cast<uint64_t>(saved->progress.learner_steps);
  past.running = saved->progress.running.value_or(absl::ZeroDuration());
  past.result = saved->progress.result;
}

absl::Status OpenAndBegin(HostState* host, const std::string& id) {
  ExperimentRecord record;
  {
    MutexLock lock(&host->mutex);
    record = host->records.at(id);
    if (host->stopping || IsOver(record.state)) {
      return absl::OkStatus();
    }
  }
  if (record.state == RunState::kRunning) {
    NoteProgress(host, id);
  }
  absl::StatusOr<ExperimentTexts> texts = host->store->Texts(id);
  if (!texts.ok()) {
    return GiveUpOrPostpone(host, id, texts.status(), /*final=*/false);
  }
  const absl::StatusOr<Experiment> experiment = host->Parse(record, texts->effective_yaml);
  if (!experiment.ok()) {
    return GiveUpOrPostpone(host, id, experiment.status(), /*final=*/true);
  }
  // A folder that cannot be made is not the fault of the experiment.
  if (const absl::Status made = CreateFolders(record.output_folder); !made.ok()) {
    return GiveUpOrPostpone(host, id, made, /*final=*/false);
  }
  absl::StatusOr<std::shared_ptr<OpenRun>> run = OpenRunOf(host, record, texts->effective_yaml, *experiment);
  if (!run.ok()) {
    return GiveUpOrPostpone(host, id, run.status(), IsOfItsData(run.status()));
  }
  // A record that cannot be saved is not the fault of the experiment.
  const absl::Status begun = BeginOpen(host, id, *std::move(run), *std::move(texts), host->Needs(record, *experiment),
                                       experiment->experiment.population);
  if (!begun.ok()) {
    return GiveUpOrPostpone(host, id, begun, /*final=*/false);
  }
  {
    MutexLock lock(&host->mutex);
    if (host->active_runs.count(id) == 0) {  // It was stopped meanwhile.
      return absl::OkStatus();
    }
  }
  // The run cannot be closed before this is done: see TakeEnded.
  if (const absl::Status removed = RemoveSummary(record.output_folder); !removed.ok()) {
    LogWarning("experiment ", id, " goes on beside its earlier summary: ", removed.message());
  }
  return absl::OkStatus();
}

absl::Status SaveEnd(HostState* host, const std::string& id) {
  std::shared_ptr<OpenRun> run;
  ExperimentRecord record;
  {
    MutexLock lock(&host->mutex);
    run = host->active_runs.at(id).run;
    record = host->records.at(id);
  }
  WAGGLE_RETURN_IF_ERROR(run->hub()->Save());
  const v1::OverviewResponse overview = ToPastProto(run->hub()->Overview());
  const RunStanding standing = run->hub()->Standing();
  record.state = standing.state;
  record.reason = standing.reason;
  // Before the record is saved, so that a closed experiment has its files.
  WAGGLE_RETURN_IF_ERROR(CreateFolders(record.output_folder));
  WAGGLE_RETURN_IF_ERROR(WriteSummary(record.output_folder, SummaryJson(record, overview)));
  const std::string last_overview = overview.SerializeAsString();
  MutexLock writing(&host->writing);
  {
    MutexLock lock(&host->mutex);
    record = host->records.at(id);
  }
  record.state = standing.state;
  record.reason = standing.reason;
  record.ended = absl::Now();
  record.replay_storage.clear();
  WAGGLE_RETURN_IF_ERROR(host->SaveRecord(record, "", &last_overview));
  LogInfo("experiment ", id, " is closed: ", RunStateName(standing.state));
  return absl::OkStatus();
}

void SaveReplayStorage(HostState* host) {
  MutexLock writing(&host->writing);
  std::vector<ExperimentRecord> changed;
  {
    MutexLock lock(&host->mutex);
    for (const auto& [id, active] : host->active_runs) {
      if (active.over_since.has_value()) {
        continue;
      }
      const std::map<int64_t, std::string> storage = host->pool.FindRun(id)->ReplayStorage();
      if (storage != host->records.at(id).replay_storage) {
        changed.push_back(host->records.at(id));
        changed.back().replay_storage = storage;
      }
    }
  }
  for (const ExperimentRecord& record : changed) {
    host->Noted(host->SaveRecord(record, ""),
                absl::StrCat("the replay storage of experiment ", record.id, " is not saved yet"));
  }
}

// If `wanted`, asks for a return to the run's newest cut, if it has one. Returns true if a return is asked for.
absl::StatusOr<bool> RequestNewestCut(HostState* host, const ExperimentRecord& record, bool wanted) {
  const CutFolder folder({FolderOfHub(host, record.id), record.output_folder});
  if (wanted) {
    WAGGLE_ASSIGN_OR_RETURN(const std::vector<CutFacts> cuts, folder.List());
    if (!cuts.empty()) {
      WAGGLE_RETURN_IF_ERROR(folder.RequestReturn(cuts.back().number));
    }
  }
  return folder.IsReturnRequested();
}

}  // namespace

absl::Status LoadExperiments(HostState* host) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> deleted, host->store->Deleted());
  {
    MutexLock lock(&host->mutex);
    host->deleted.insert(deleted.begin(), deleted.end());
  }
  WAGGLE_RETURN_IF_ERROR(host->store->Load([host](ExperimentRecord record, const std::string& last_overview) {
    v1::OverviewResponse last;
    MutexLock lock(&host->mutex);
    if (!last_overview.empty() && last.ParseFromString(last_overview)) {
      RunStanding& past = host->past_standings[record.id];
      past.env_steps = last.env_steps();
      past.learner_steps = last.learner_steps();
      past.running = absl::Milliseconds(last.running_ms());
      past.result = last.has_result() ? std::make_optional(FromProto(last.result())) : std::nullopt;
    }
    if (!IsOver(record.state)) {
      host->pending_runs[record.id];
    }
    host->Add(std::move(record));
  }));
  // A user asks for it by a file, because that is done once: the hub may start again later, with its workers alive.
  const std::string asked = absl::StrCat(host->options.data_folder, "/", kReturnToCuts);
  std::error_code error;
  const bool all_return = std::filesystem::exists(asked, error);
  std::vector<ExperimentRecord> begin;
  {
    MutexLock lock(&host->mutex);
    for (const auto& [id, pending] : host->pending_runs) {
      begin.push_back(host->records.at(id));
    }
  }
  for (const ExperimentRecord& record : begin) {
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentTexts texts, host->store->Texts(record.id));
    if (const auto experiment = host->Parse(record, texts.effective_yaml); experiment.ok()) {
      bool returns = false;
      if (record.state == RunState::kRunning) {
        // A run in lock-step is only reproducible if all of its processes go on from one state.
        WAGGLE_ASSIGN_OR_RETURN(returns,
                                RequestNewestCut(host, record, all_return || experiment->experiment.deterministic));
      }
      MutexLock lock(&host->mutex);
      PendingRun& pending = host->pending_runs.at(record.id);
      pending.needs = host->Needs(record, *experiment);
      pending.returns = returns;
    }
  }
  if (all_return) {
    WAGGLE_RETURN_IF_ERROR(RemoveAll(asked));
    return SyncFolder(host->options.data_folder);  // A power cut must not bring it back.
  }
  return absl::OkStatus();
}

absl::Status BeginRun(HostState* host, const std::string& id) {
  const absl::Status status = OpenAndBegin(host, id);
  {
    MutexLock lock(&host->mutex);
    const auto pending = host->pending_runs.find(id);
    pending->second.opening = false;
    if (IsOver(host->records.at(id).state) || host->active_runs.count(id) > 0) {
      host->pending_runs.erase(pending);
    }
    host->look_at = absl::InfinitePast();
    host->closed.SignalAll();
  }
  host->wake->Up();
  host->listeners.CallAll();
  return status;
}

absl::Status CloseRun(HostState* host, const std::string& id) {
  const absl::Status status = SaveEnd(host, id);
  if (!status.ok()) {
    const std::string why(status.message());
    bool news = false;
    {
      MutexLock lock(&host->mutex);
      news = std::exchange(host->active_runs.at(id).unclosed, why) != why;
    }
    if (news) {
      host->Note(id, absl::StrCat("it is not closed yet: ", why));
    }
    return status;
  }
  std::shared_ptr<OpenRun> run;
  ActiveRun active;  // Its subscription ends outside the lock.
  {
    MutexLock lock(&host->mutex);
    run = host->active_runs.at(id).run;
    active = std::move(host->active_runs.at(id));
    host->active_runs.erase(id);
    host->past_standings[id] = run->hub()->Standing();
    host->closing_runs[id].run = run;
  }
  run->Close(/*over=*/true);
  return absl::OkStatus();
}

void SaveNews(HostState* host) {
  SaveReplayStorage(host);
  host->SaveEvents();
}

}  // namespace waggle
