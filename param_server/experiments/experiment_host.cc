#include "param_server/experiments/experiment_host.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/build_info.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/hub/hub_convert.h"
#include "param_server/experiments/host_figures.h"
#include "param_server/experiments/host_thread.h"
#include "param_server/experiments/listing.h"
#include "param_server/experiments/pool_calls.h"
#include "param_server/experiments/resume.h"
#include "param_server/experiments/run_tasks.h"
#include "param_server/experiments/set_numbers.h"
#include "param_server/experiments/submit.h"
#include "param_server/run/cut_folder.h"

namespace waggle {
namespace {

// Less than the deadline of clients.
constexpr absl::Duration kClosePatience = absl::Seconds(20);
constexpr int64_t kEventsAtATime = 1'000;
// Ids, or warnings, in an answer.
constexpr size_t kMostNamed = 10;

}  // namespace

absl::StatusOr<std::unique_ptr<ExperimentHost>> ExperimentHost::Open(const ExperimentHostOptions& options) {
  WAGGLE_RETURN_IF_ERROR(CreateFolders(absl::StrCat(options.data_folder, "/experiments")));
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ExperimentStore> store,
                          ExperimentStore::Open(absl::StrCat(options.data_folder, "/experiments.db")));
  auto host =
      std::unique_ptr<ExperimentHost>(new ExperimentHost(std::make_unique<HostState>(options, std::move(store))));
  WAGGLE_RETURN_IF_ERROR(LoadExperiments(host->state_.get()));
  host->thread_ = Thread("experiments", [state = host->state_.get()] { RunHostThread(state); });
  return host;
}

void ExperimentHost::BeginStop() {
  MutexLock lock(&state_->mutex);
  state_->stopping = true;
  state_->closed.SignalAll();
}

// First the thread ends, then calls of the pool get replies, tasks of the executor end, and runs and events are saved.
ExperimentHost::~ExperimentHost() {
  BeginStop();
  {
    MutexLock lock(&state_->wake->mutex);
    state_->wake->stopping = true;
    state_->wake->changed.SignalAll();
  }
  thread_.Join();
  std::map<std::string, AttendCall> calls;
  {
    MutexLock lock(&state_->mutex);
    calls.swap(state_->calls);
  }
  for (auto& [worker_id, call] : calls) {
    call.reply(absl::UnavailableError("the parameter server is stopping"));
  }
  state_->executor.reset();
  std::map<std::string, ActiveRun> active;
  std::map<std::string, ClosingRun> closing;
  {
    MutexLock lock(&state_->mutex);
    active.swap(state_->active_runs);
    closing.swap(state_->closing_runs);
  }
  for (auto& [id, one] : active) {
    one.run->Close();
  }
  active.clear();
  closing.clear();
  state_->SaveEvents();
}

uint64_t ExperimentHost::Attend(const v1::AttendRequest& attendance, AttendReply reply) {
  return TakeAttendCall(state_.get(), attendance, std::move(reply));
}

void ExperimentHost::BreakOff(uint64_t call) {
  BreakOffCall(state_.get(), call);
}

absl::StatusOr<std::vector<std::string>> ExperimentHost::Submit(const Submission& submission) {
  WAGGLE_ASSIGN_OR_RETURN(std::vector<std::string> ids, SaveSubmission(state_.get(), submission));
  BeginNext(state_.get(), state_->options.clock());  // Sets waits_for at once.
  state_->listeners.CallAll();
  return ids;
}

absl::Status ExperimentHost::Stop(const std::string& id) {
  constexpr char kReason[] = "stopped by a user";
  std::shared_ptr<OpenRun> run;
  {
    MutexLock writing(&state_->writing);
    ExperimentRecord record;
    {
      MutexLock lock(&state_->mutex);
      WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const known, state_->Find(id));
      record = *known;
      if (const auto active = state_->active_runs.find(id); active != state_->active_runs.end()) {
        run = active->second.run;
      }
    }
    if (run == nullptr && !IsOver(record.state)) {  // Queued, or its run is not open.
      record.state = RunState::kStopped;
      record.replay_storage.clear();
      record.reason = kReason;
      record.ended = absl::Now();
      WAGGLE_RETURN_IF_ERROR(state_->SaveRecord(record, kReason));
    }
  }
  if (run != nullptr) {
    WAGGLE_RETURN_IF_ERROR(
        Annotate(run->hub()->End(RunState::kStopped, kReason),
                 "the stop is not saved: the experiment would go on after a restart of the parameter server"));
  }
  state_->wake->Up();
  state_->listeners.CallAll();
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ExperimentHost::BeginCut(const std::string& id) {
  std::shared_ptr<OpenRun> run;
  {
    MutexLock lock(&state_->mutex);
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const record, state_->Find(id));
    const auto active = state_->active_runs.find(id);
    if (active == state_->active_runs.end()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "experiment ", id, " is ", RunStateName(state_->StateOf(*record)), "; only a running one can have a cut"));
    }
    run = active->second.run;
  }
  return run->hub()->BeginCut();
}

absl::StatusOr<v1::CutsResponse> ExperimentHost::Cuts(const std::string& id) {
  std::shared_ptr<OpenRun> run;
  std::string output_folder;
  {
    MutexLock lock(&state_->mutex);
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const record, state_->Find(id));
    output_folder = record->output_folder;
    const auto active = state_->active_runs.find(id);
    run = active == state_->active_runs.end() ? nullptr : active->second.run;
  }
  v1::CutsResponse answer;
  if (run != nullptr) {  // Before the folder is read: a cut that is complete is not in progress.
    const Hub::CutStanding standing = run->hub()->cut_standing();
    answer.set_in_progress(standing.in_progress);
    answer.set_failed(standing.failed);
    answer.set_failure(standing.failure);
  }
  const CutFolder folder({absl::StrCat(state_->RunFolder(id), "/hub"), output_folder});
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<CutFacts> cuts, folder.List());
  for (const CutFacts& cut : cuts) {
    v1::CutsResponse::Cut* const proto = answer.add_cuts();
    proto->set_number(cut.number);
    proto->set_learner_steps(static_cast<uint64_t>(cut.learner_steps));
    proto->set_env_steps(static_cast<uint64_t>(cut.env_steps));
    proto->set_made_at_us(absl::ToUnixMicros(cut.made));
  }
  return answer;
}

absl::Status ExperimentHost::Resume(const std::string& id, const SettingValues& limits, uint64_t cut) {
  WAGGLE_RETURN_IF_ERROR(AwaitClosed(id));
  WAGGLE_RETURN_IF_ERROR(ResumeClosed(state_.get(), id, limits, cut));
  state_->wake->Up();
  state_->listeners.CallAll();
  return absl::OkStatus();
}

absl::Status ExperimentHost::SetPriority(const std::string& id, int64_t priority) {
  WAGGLE_RETURN_IF_ERROR(ChangePriority(state_.get(), id, priority));
  BeginNext(state_.get(), state_->options.clock());  // Sets waits_for at once.
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SettingChange>> ExperimentHost::Set(
    const std::string& id, const std::vector<std::pair<std::string, std::string>>& numbers, bool dry_run) {
  return SetNumbers(state_.get(), id, numbers, dry_run);
}

absl::Status ExperimentHost::AwaitClosed(const std::string& id) {
  const absl::Time deadline = state_->options.clock() + kClosePatience;
  MutexLock lock(&state_->mutex);
  while (true) {
    WAGGLE_RETURN_IF_ERROR(state_->Find(id).status());
    if (state_->stopping) {
      return absl::UnavailableError("the parameter server is stopping");
    }
    if (!state_->IsClosing(id)) {
      return absl::OkStatus();
    }
    if (state_->options.clock() > deadline) {
      return absl::FailedPreconditionError(
          absl::StrCat("experiment ", id,
                       " is over, but not closed yet: its workers must end and its files must be written; try again in "
                       "a minute"));
    }
    state_->closed.WaitFor(&state_->mutex, absl::Milliseconds(100));
  }
}

absl::Status ExperimentHost::Delete(const std::string& id) {
  WAGGLE_RETURN_IF_ERROR(AwaitClosed(id));
  std::string output_folder;
  {
    MutexLock writing(&state_->writing);
    MutexLock lock(&state_->mutex);
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const record, state_->Find(id));
    if (state_->active_runs.count(id) > 0 || state_->pending_runs.count(id) > 0 || state_->closing_runs.count(id) > 0 ||
        !IsOver(record->state)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "experiment ", id, " is ", RunStateName(state_->StateOf(*record)), "; stop it before you delete it"));
    }
    output_folder = record->output_folder;
    state_->deleting.insert(id);  // Find does not return it to other calls from now on.
  }
  // The folders first: after an error the experiment still exists, and can be deleted again.
  absl::Status status = RemoveAll(state_->RunFolder(id));
  if (status.ok() && output_folder.find(id) != std::string::npos) {  // Else the folder is not its own.
    status = RemoveAll(output_folder);
  }
  if (status.ok()) {
    status = state_->store->Delete(id);
  }
  {
    MutexLock lock(&state_->mutex);
    state_->deleting.erase(id);
    if (status.ok()) {
      state_->by_sequence.erase(state_->records.at(id).sequence);
      state_->records.erase(id);
      state_->past_standings.erase(id);
      state_->deleted.insert(id);
    }
  }
  if (status.ok()) {
    LogInfo("experiment ", id, " is deleted");
    state_->listeners.CallAll();
  }
  return status;
}

absl::StatusOr<std::vector<ExperimentEvent>> ExperimentHost::Events(const std::string& id, uint64_t after) {
  {
    MutexLock lock(&state_->mutex);
    WAGGLE_RETURN_IF_ERROR(state_->Find(id).status());
  }
  return state_->store->Events(id, after, kEventsAtATime);
}

absl::StatusOr<ExperimentTexts> ExperimentHost::Texts(const std::string& id) {
  return PresentTexts(state_.get(), id);
}

std::shared_ptr<const ExperimentTexts> ExperimentHost::TextsOfRunning(const std::string& id) {
  MutexLock lock(&state_->mutex);
  const auto active = state_->active_runs.find(id);
  return active == state_->active_runs.end() ? nullptr : active->second.texts;
}

void ExperimentHost::WriteFigures(PrometheusText* text) {
  WriteHostFigures(state_.get(), text);
}

void ExperimentHost::Touch() {
  MutexLock lock(&state_->mutex);
}

v1::ListExperimentsResponse ExperimentHost::List(const ExperimentQuery& query) {
  MutexLock lock(&state_->mutex);
  return ListExperiments(state_.get(), query);
}

absl::StatusOr<v1::ResolveResponse> ExperimentHost::Resolve(const std::string& word) {
  MutexLock lock(&state_->mutex);
  return ResolveWord(state_.get(), word);
}

std::vector<std::string> ExperimentHost::Impossible(const std::vector<std::string>& ids) {
  std::vector<std::string> problems;
  MutexLock lock(&state_->mutex);
  const PoolSlots slots = state_->pool.CountSlots();
  const QuotaBook nothing(&state_->pool.quotas());
  for (const std::string& id : ids) {
    const auto pending = state_->pending_runs.find(id);
    if (pending == state_->pending_runs.end() || !pending->second.needs.has_value()) {
      continue;
    }
    for (const auto& of : {slots.Impossible(*pending->second.needs), nothing.Impossible(*pending->second.needs)}) {
      for (const std::string& problem : of) {
        if (std::find(problems.begin(), problems.end(), problem) == problems.end() && problems.size() < kMostNamed) {
          problems.push_back(problem);
        }
      }
    }
  }
  return problems;
}

absl::StatusOr<v1::ExperimentInfo> ExperimentHost::Get(const std::string& id) {
  MutexLock lock(&state_->mutex);
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const record, state_->Find(id));
  return state_->View(*record);
}

std::vector<v1::PoolMember> ExperimentHost::Members() {
  MutexLock lock(&state_->mutex);
  return state_->pool.Members(state_->options.clock());
}

absl::StatusOr<std::shared_ptr<RunServices>> ExperimentHost::Find(const std::string& id) {
  MutexLock lock(&state_->mutex);
  const auto active =
      id.empty() && state_->active_runs.size() == 1 ? state_->active_runs.begin() : state_->active_runs.find(id);
  if (active != state_->active_runs.end()) {
    return OpenRun::Services(active->second.run);
  }
  if (const auto record = state_->records.find(id);
      record != state_->records.end() && record->second.state == RunState::kRunning) {
    return absl::UnavailableError(absl::StrCat("experiment ", id, " is being opened"));
  }
  return absl::NotFoundError(absl::StrCat("no experiment \"", absl::CHexEscape(id), "\" runs here"));
}

absl::StatusOr<ResultFolders> ExperimentHost::Folders(const std::string& id) {
  MutexLock lock(&state_->mutex);
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const record, state_->Find(id));
  return ResultFolders{record->output_folder, absl::StrCat(state_->RunFolder(id), "/hub")};
}

absl::StatusOr<v1::OverviewResponse> ExperimentHost::PastOverview(const std::string& id) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string known, OnlyOne(id));
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentTexts texts, Texts(known));
  v1::OverviewResponse overview;
  if (!texts.last_overview.empty() && !overview.ParseFromString(texts.last_overview)) {
    return absl::DataLossError(absl::StrCat("the saved overview of experiment ", known, " cannot be read"));
  }
  WAGGLE_ASSIGN_OR_RETURN(const v1::ExperimentInfo info, Get(known));
  if (info.state() == v1::RUN_STATE_RUNNING && (info.reason().empty() || TextsOfRunning(known) != nullptr)) {
    // The saved numbers of steps are older than those of the run, which is being opened or was opened meanwhile.
    return absl::UnavailableError(absl::StrCat("experiment ", known, " is being opened"));
  }
  overview.set_experiment_id(known);
  overview.set_run_state(info.state());
  overview.set_outcome_reason(info.reason());
  overview.set_experiment_name(info.name());
  overview.set_experiment_yaml(texts.effective_yaml);
  overview.set_software_version(kVersion);
  return overview;
}

absl::StatusOr<std::string> ExperimentHost::OnlyOne(const std::string& id) {
  MutexLock lock(&state_->mutex);
  if (!id.empty()) {
    return id;
  }
  if (state_->active_runs.empty() && state_->records.size() == 1) {
    return state_->records.begin()->first;
  }
  std::vector<std::string> ids;  // Newest first.
  for (auto one = state_->by_sequence.rbegin(); one != state_->by_sequence.rend() && ids.size() <= kMostNamed; ++one) {
    if (state_->active_runs.empty() || state_->active_runs.count(one->second->id) > 0) {
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
