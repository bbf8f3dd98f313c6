#include "param_server/experiments/experiment_host.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/build_info.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/experiment/experiment.h"
#include "common/hub_client/hub_convert.h"
#include "common/tensor/array_spec.h"

namespace waggle {
namespace {

constexpr size_t kMaxYamlBytes = size_t{1} << 20;
constexpr size_t kMaxNameInId = 40;
constexpr size_t kIdLetters = 5;
constexpr int kMostIds = 10;
// Runs are opened and closed by all but one of them, which is left for records and events.
constexpr int kFileThreads = 6;
constexpr size_t kMaxFileTasks = 1'000;
// Less than a client waits.
constexpr absl::Duration kClosePatience = absl::Seconds(20);

// "cartpole-x7k2p": without vowels, so that no words come of it.
std::string NewId(const std::string& name) {
  constexpr char kLetters[] = "bcdfghjkmnpqrstvwxz23456789";
  std::string id = absl::StrReplaceAll(name.substr(0, kMaxNameInId), {{".", "-"}});
  absl::StrAppend(&id, "-");
  std::random_device random;
  Rng rng((uint64_t{random()} << 32) | random());
  for (size_t i = 0; i < kIdLetters; ++i) {
    id += kLetters[rng.Next() % (sizeof(kLetters) - 1)];
  }
  return id;
}

}  // namespace

ExperimentHost::ExperimentHost(const ExperimentHostOptions& options, std::unique_ptr<ExperimentStore> store)
    : options_(options),
      store_(std::move(store)),
      wake_(std::make_shared<Wake>()),
      pool_(options.pool, static_cast<uint64_t>(absl::ToUnixMicros(absl::Now())), options.clock()),
      executor_(std::in_place, "experiment-files", kFileThreads, kMaxFileTasks) {
  Executor::LaneOptions runs;
  runs.max_queued = kMaxFileTasks;
  runs.max_running = kFileThreads - 1;
  runs_.emplace(&*executor_, runs);
}

absl::StatusOr<std::unique_ptr<ExperimentHost>> ExperimentHost::Open(const ExperimentHostOptions& options) {
  WAGGLE_RETURN_IF_ERROR(CreateFolders(absl::StrCat(options.data_folder, "/experiments")));
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ExperimentStore> store,
                          ExperimentStore::Open(absl::StrCat(options.data_folder, "/experiments.db")));
  auto host = std::unique_ptr<ExperimentHost>(new ExperimentHost(options, std::move(store)));
  WAGGLE_RETURN_IF_ERROR(host->LoadAll());
  host->thread_ = Thread("experiments", [host = host.get()] { host->Run(); });
  return host;
}

void ExperimentHost::BeginStop() {
  MutexLock lock(&mutex_);
  stopping_ = true;
  closed_.SignalAll();
}

// The one order of a stop: nothing new is decided; the pool is answered; what the executor has begun is ended, and what
// waits to be opened there is not; what runs is written; and last, what has been noted of all that.
ExperimentHost::~ExperimentHost() {
  BeginStop();
  {
    MutexLock lock(&wake_->mutex);
    wake_->stopping = true;
    wake_->changed.SignalAll();
  }
  thread_.Join();
  std::map<std::string, Waiting> waiting;
  {
    MutexLock lock(&mutex_);
    waiting.swap(waiting_);
  }
  for (auto& [worker_id, one] : waiting) {
    one.answer(absl::UnavailableError("the parameter server is stopping"));
  }
  executor_.reset();
  std::map<std::string, Active> active;
  std::map<std::string, Closing> closing;
  {
    MutexLock lock(&mutex_);
    active.swap(active_);
    closing.swap(closing_);
  }
  for (auto& [id, one] : active) {
    one.run->Close();
  }
  active.clear();
  closing.clear();
  WriteEvents();
}

std::string ExperimentHost::RunFolder(const std::string& id) const {
  return absl::StrCat(options_.data_folder, "/experiments/", id);
}

std::string ExperimentHost::OutputFolder(const std::string& id) const {
  return options_.output_pattern.empty() ? absl::StrCat(RunFolder(id), "/output")
                                         : absl::StrReplaceAll(options_.output_pattern, {{"{id}", id}});
}

absl::StatusOr<Experiment> ExperimentHost::Parse(const std::string& id, const std::string& effective_yaml) const {
  return ParseStoredExperiment(effective_yaml, absl::StrCat("experiment ", id), {}, *options_.algorithms);
}

RunNeeds ExperimentHost::Needs(const ExperimentRecord& record, const Experiment& experiment) const {
  RunNeeds needs = NeedsOf(experiment);
  needs.experiment_id = record.id;
  needs.priority = record.priority;
  needs.sequence = record.sequence;
  needs.output_folder = record.output_folder;
  return needs;
}

void ExperimentHost::AddRecordLocked(ExperimentRecord record) {
  const std::string id = record.id;
  const ExperimentRecord& added = records_[id] = std::move(record);
  by_sequence_[added.sequence] = &added;
}

absl::StatusOr<ExperimentRecord*> ExperimentHost::FindRecordLocked(const std::string& id) {
  const auto record = records_.find(id);
  if (record == records_.end() || deleting_.count(id) > 0) {
    return absl::NotFoundError(absl::StrCat("there is no experiment \"", absl::CHexEscape(id), "\""));
  }
  return &record->second;
}

absl::Status ExperimentHost::Keep(const ExperimentRecord& record, const std::string& event,
                                  const std::string* last_overview) {
  WAGGLE_RETURN_IF_ERROR(last_overview == nullptr ? store_->Update(record, event)
                                                  : store_->UpdateClosed(record, *last_overview));
  MutexLock lock(&mutex_);
  records_.at(record.id) = record;
  if (const auto pending = pending_.find(record.id);
      IsOver(record.state) && pending != pending_.end() && !pending->second.opening) {
    pending_.erase(pending);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ExperimentHost::Submit(const Submission& submission) {
  if (submission.submitted_yaml.size() > kMaxYamlBytes || submission.effective_yaml.size() > kMaxYamlBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("an experiment has at most ", kMaxYamlBytes, " bytes; this one has ",
                     std::max(submission.submitted_yaml.size(), submission.effective_yaml.size())));
  }
  if (submission.priority < -kMaxExperimentPriority || submission.priority > kMaxExperimentPriority) {
    return absl::InvalidArgumentError(absl::StrCat("priority: ", submission.priority, "; wanted ",
                                                   -kMaxExperimentPriority, " to ", kMaxExperimentPriority));
  }
  WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment,
                          ParseExperiment(submission.effective_yaml, "the experiment", {}, *options_.algorithms));
  ExperimentRecord record;
  record.name = experiment.experiment.name;
  record.algorithm = experiment.algorithm;
  record.environment = experiment.environment.name;
  record.seed = experiment.experiment.seed;
  record.priority = submission.priority;
  record.software_version = kVersion;
  record.submitted = absl::Now();
  if (!submission.request_id.empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(submission.request_id), "request_id"));
  }
  const ExperimentTexts texts{submission.request_id, submission.submitted_yaml, ToYaml(experiment), ""};
  {
    MutexLock writing(&writing_);
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<std::string> known, store_->IdOfRequest(texts.request_id));
    if (known.has_value()) {
      return *known;  // The answer to it was lost.
    }
    WAGGLE_RETURN_IF_ERROR(CheckOwnFolder());
    absl::StatusOr<int64_t> sequence = absl::AlreadyExistsError("");
    for (int i = 0; i < kMostIds && absl::IsAlreadyExists(sequence.status()); ++i) {
      record.id = NewId(record.name);
      record.output_folder = OutputFolder(record.id);
      sequence = store_->Add(record, texts);
    }
    WAGGLE_RETURN_IF_ERROR(sequence.status());
    record.sequence = *sequence;
    LogInfo("experiment ", record.id, " is in the queue: ", record.algorithm, " on ", record.environment);
    MutexLock lock(&mutex_);
    AddRecordLocked(record);
    pending_[record.id].needs = Needs(record, experiment);
  }
  BeginNext(options_.clock());  // So that it says at once what it waits for.
  listeners_.CallAll();
  return record.id;
}

absl::Status ExperimentHost::CheckOwnFolder() {
  if (OutputFolder("a") != OutputFolder("b")) {
    return absl::OkStatus();
  }
  MutexLock lock(&mutex_);
  for (const auto& [id, other] : records_) {
    if (other.output_folder == OutputFolder("")) {
      return absl::FailedPreconditionError(absl::StrCat("this parameter server holds one experiment alone, ", id,
                                                        ", as its --output-dir, ", other.output_folder,
                                                        ", does not name each one's {id}"));
    }
  }
  return absl::OkStatus();
}

absl::Status ExperimentHost::Stop(const std::string& id) {
  constexpr char kReason[] = "stopped by a user";
  std::shared_ptr<OpenRun> run;
  {
    MutexLock writing(&writing_);
    ExperimentRecord record;
    {
      MutexLock lock(&mutex_);
      WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const known, FindRecordLocked(id));
      record = *known;
      if (const auto active = active_.find(id); active != active_.end()) {
        run = active->second.run;
      }
    }
    if (run == nullptr && !IsOver(record.state)) {  // In the queue, or a run that is not open, or not yet.
      record.state = RunState::kStopped;
      record.replay_storage.clear();
      record.reason = kReason;
      record.ended = absl::Now();
      WAGGLE_RETURN_IF_ERROR(Keep(record, kReason));
    }
  }
  if (run != nullptr) {
    WAGGLE_RETURN_IF_ERROR(Annotate(run->hub()->End(RunState::kStopped, kReason),
                                    "it is stopped, but would go on if the parameter server ended now"));
  }
  wake_->Up();
  listeners_.CallAll();
  return absl::OkStatus();
}

absl::Status ExperimentHost::Resume(const std::string& id) {
  WAGGLE_RETURN_IF_ERROR(AwaitClosed(id));
  {
    MutexLock writing(&writing_);
    ExperimentRecord record;
    {
      MutexLock lock(&mutex_);
      WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const known, FindRecordLocked(id));
      record = *known;
    }
    if (record.state != RunState::kStopped && record.state != RunState::kFailed) {
      return absl::FailedPreconditionError(absl::StrCat("experiment ", id, " is ", RunStateName(record.state),
                                                        "; only one that was stopped or has failed can be resumed"));
    }
    record.state = RunState::kQueued;
    record.reason.clear();
    record.ended.reset();
    record.software_version = kVersion;
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentTexts texts, store_->Texts(id));
    const absl::StatusOr<Experiment> experiment = Parse(id, texts.effective_yaml);
    WAGGLE_RETURN_IF_ERROR(Keep(record, "resumed by a user: in the queue again"));
    MutexLock lock(&mutex_);
    pending_[id].needs = experiment.ok() ? std::make_optional(Needs(record, *experiment)) : std::nullopt;
  }
  BeginNext(options_.clock());
  listeners_.CallAll();
  return absl::OkStatus();
}

bool ExperimentHost::IsClosingLocked(const std::string& id) {
  if (const auto active = active_.find(id); active != active_.end()) {
    return IsOver(active->second.run->hub()->run_state());
  }
  const auto pending = pending_.find(id);
  return closing_.count(id) > 0 ||
         (pending != pending_.end() && pending->second.opening && IsOver(records_.at(id).state));
}

absl::Status ExperimentHost::AwaitClosed(const std::string& id) {
  const absl::Time deadline = options_.clock() + kClosePatience;
  MutexLock lock(&mutex_);
  while (true) {
    WAGGLE_RETURN_IF_ERROR(FindRecordLocked(id).status());
    if (stopping_) {
      return absl::UnavailableError("the parameter server is stopping");
    }
    if (!IsClosingLocked(id)) {
      return absl::OkStatus();
    }
    if (options_.clock() > deadline) {
      return absl::FailedPreconditionError(
          absl::StrCat("experiment ", id,
                       " is over, but not closed yet: its workers end, or its files are being written; try again in "
                       "a minute"));
    }
    closed_.WaitFor(&mutex_, absl::Milliseconds(100));
  }
}

absl::Status ExperimentHost::Delete(const std::string& id) {
  WAGGLE_RETURN_IF_ERROR(AwaitClosed(id));
  std::string output_folder;
  {
    MutexLock writing(&writing_);
    MutexLock lock(&mutex_);
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const record, FindRecordLocked(id));
    if (active_.count(id) > 0 || pending_.count(id) > 0 || closing_.count(id) > 0 || !IsOver(record->state)) {
      return absl::FailedPreconditionError(absl::StrCat("experiment ", id, " is ", RunStateName(StateLocked(*record)),
                                                        "; only one that has ended can be deleted: stop it first"));
    }
    output_folder = record->output_folder;
    deleting_.insert(id);  // Nobody else changes it now.
  }
  // The folders first: after an error it is still known, and can be deleted again. They may be large.
  absl::Status status = RemoveAll(RunFolder(id));
  if (status.ok() && output_folder.find(id) != std::string::npos) {  // Else it is not its own.
    status = RemoveAll(output_folder);
  }
  if (status.ok()) {
    status = store_->Delete(id);
  }
  {
    MutexLock lock(&mutex_);
    deleting_.erase(id);
    if (status.ok()) {
      by_sequence_.erase(records_.at(id).sequence);
      records_.erase(id);
      past_.erase(id);
      deleted_.insert(id);
    }
  }
  if (status.ok()) {
    LogInfo("experiment ", id, " is deleted");
    listeners_.CallAll();
  }
  return status;
}

}  // namespace waggle
