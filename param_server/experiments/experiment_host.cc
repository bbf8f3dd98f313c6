#include "param_server/experiments/experiment_host.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/atomic_file.h"
#include "common/base/build_info.h"
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

absl::Status RemoveFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  return error ? FileError(error.value(), folder, "delete the folder") : absl::OkStatus();
}

}  // namespace

ExperimentHost::ExperimentHost(const ExperimentHostOptions& options, std::unique_ptr<ExperimentStore> store)
    : options_(options),
      store_(std::move(store)),
      wake_(std::make_shared<Wake>()),
      pool_(options.pool, static_cast<uint64_t>(absl::ToUnixMicros(absl::Now())), options.clock()) {}

absl::StatusOr<std::unique_ptr<ExperimentHost>> ExperimentHost::Open(const ExperimentHostOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(absl::StrCat(options.data_folder, "/experiments"), error);
  if (error) {
    return FileError(error.value(), options.data_folder, "make the folder");
  }
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ExperimentStore> store,
                          ExperimentStore::Open(absl::StrCat(options.data_folder, "/experiments.db")));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<ExperimentRecord> records, store->LoadAll());
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> deleted, store->Deleted());
  auto host = std::unique_ptr<ExperimentHost>(new ExperimentHost(options, std::move(store)));
  {
    MutexLock lock(&host->mutex_);
    host->deleted_.insert(deleted.begin(), deleted.end());
  }
  for (const ExperimentRecord& record : records) {
    const absl::StatusOr<Experiment> experiment = host->Parse(record);
    host->Learn(record, experiment.ok() ? std::make_optional(host->Needs(record, *experiment)) : std::nullopt);
    if (record.state == RunState::kRunning) {
      WAGGLE_RETURN_IF_ERROR(host->Begin(record.id));
    }
  }
  host->thread_ = Thread("experiments", [host = host.get()] { host->Run(); });
  return host;
}

void ExperimentHost::BeginStop() {
  MutexLock lock(&mutex_);
  stopping_ = true;
  closed_.SignalAll();
}

ExperimentHost::~ExperimentHost() {
  {
    MutexLock lock(&wake_->mutex);
    wake_->stopping = true;
    wake_->changed.SignalAll();
  }
  thread_.Join();
  std::map<std::string, Active> active;
  std::map<std::string, Waiting> waiting;
  {
    MutexLock lock(&mutex_);
    active.swap(active_);
    waiting.swap(waiting_);
  }
  for (auto& [worker_id, one] : waiting) {
    one.answer(absl::UnavailableError("the parameter server is stopping"));
  }
  for (auto& [id, one] : active) {
    one.run->Close();
  }
  active.clear();  // What is to be kept of them is written here.
  {
    MutexLock lock(&mutex_);
    closing_.clear();
  }
  WriteEvents();
}

std::string ExperimentHost::RunFolder(const std::string& id) const {
  return absl::StrCat(options_.data_folder, "/experiments/", id);
}

std::string ExperimentHost::OutputFolder(const std::string& id) const {
  return options_.output_pattern.empty() ? absl::StrCat(RunFolder(id), "/output")
                                         : absl::StrReplaceAll(options_.output_pattern, {{"{id}", id}});
}

absl::StatusOr<Experiment> ExperimentHost::Parse(const ExperimentRecord& record) const {
  return ParseExperiment(record.effective_yaml, absl::StrCat("experiment ", record.id), {}, *options_.algorithms);
}

void ExperimentHost::Learn(const ExperimentRecord& record, std::optional<RunNeeds> needs) {
  v1::OverviewResponse last;
  const bool has_past = !record.last_overview.empty() && last.ParseFromString(record.last_overview);
  MutexLock lock(&mutex_);
  records_[record.id] = record;
  if (needs.has_value()) {
    needs_[record.id] = *std::move(needs);
  }
  if (has_past) {
    RunStanding& past = past_[record.id];
    past.env_steps = last.env_steps();
    past.learner_steps = last.learner_steps();
    past.running = absl::Milliseconds(last.running_ms());
    past.result = last.has_result() ? std::make_optional(FromProto(last.result())) : std::nullopt;
  }
}

absl::StatusOr<ExperimentRecord*> ExperimentHost::FindRecordLocked(const std::string& id) {
  const auto record = records_.find(id);
  if (record == records_.end() || deleting_.count(id) > 0) {
    return absl::NotFoundError(absl::StrCat("there is no experiment \"", absl::CHexEscape(id), "\""));
  }
  return &record->second;
}

absl::Status ExperimentHost::Keep(const ExperimentRecord& record, const std::string& event) {
  WAGGLE_RETURN_IF_ERROR(store_->Update(record, event));
  MutexLock lock(&mutex_);
  records_[record.id] = record;
  if (IsOver(record.state)) {
    postponed_.erase(record.id);
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
  record.submitted_yaml = submission.submitted_yaml;
  record.effective_yaml = ToYaml(experiment);
  record.software_version = kVersion;
  record.request_id = submission.request_id;
  record.submitted = absl::Now();
  if (!submission.request_id.empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(submission.request_id), "request_id"));
  }
  MutexLock writing(&writing_);
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, other] : records_) {
      if (!submission.request_id.empty() && other.request_id == submission.request_id) {
        return id;  // The answer to it was lost.
      }
      if (other.output_folder == OutputFolder("")) {
        return absl::FailedPreconditionError(absl::StrCat("this parameter server holds one experiment alone, ", id,
                                                          ", as its --output-dir, ", other.output_folder,
                                                          ", does not name each one's {id}"));
      }
    }
  }
  absl::StatusOr<int64_t> sequence = absl::AlreadyExistsError("");
  for (int i = 0; i < kMostIds && absl::IsAlreadyExists(sequence.status()); ++i) {
    record.id = NewId(record.name);
    record.output_folder = OutputFolder(record.id);
    sequence = store_->Add(record);
  }
  WAGGLE_RETURN_IF_ERROR(sequence.status());
  record.sequence = *sequence;
  LogInfo("experiment ", record.id, " is in the queue: ", record.algorithm, " on ", record.environment);
  Learn(record, Needs(record, experiment));
  WakeUp();
  listeners_.CallAll();
  return record.id;
}

absl::Status ExperimentHost::Stop(const std::string& id) {
  constexpr char kReason[] = "stopped by a user";
  MutexLock writing(&writing_);
  ExperimentRecord record;
  std::shared_ptr<OpenRun> run;
  {
    MutexLock lock(&mutex_);
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentRecord* const known, FindRecordLocked(id));
    record = *known;
    if (const auto active = active_.find(id); active != active_.end()) {
      run = active->second.run;
    }
  }
  if (run != nullptr) {
    WAGGLE_RETURN_IF_ERROR(Annotate(run->hub()->End(RunState::kStopped, kReason),
                                    "it is stopped, but would go on if the parameter server ended now"));
  } else if (!IsOver(record.state)) {  // In the queue, or a run that cannot be opened again for now.
    record.state = RunState::kStopped;
    record.replay_storage.clear();
    record.reason = kReason;
    record.ended = absl::Now();
    WAGGLE_RETURN_IF_ERROR(Keep(record, kReason));
  }
  WakeUp();
  listeners_.CallAll();
  return absl::OkStatus();
}

absl::Status ExperimentHost::Resume(const std::string& id) {
  WAGGLE_RETURN_IF_ERROR(AwaitClosed(id));
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
  WAGGLE_RETURN_IF_ERROR(Keep(record, "resumed by a user: in the queue again"));
  WakeUp();
  listeners_.CallAll();
  return absl::OkStatus();
}

absl::Status ExperimentHost::AwaitClosed(const std::string& id) {
  const absl::Time deadline = options_.clock() + kClosePatience;
  MutexLock lock(&mutex_);
  while (true) {
    WAGGLE_RETURN_IF_ERROR(FindRecordLocked(id).status());
    const auto active = active_.find(id);
    const bool is_closing = active != active_.end() ? IsOver(active->second.run->hub()->run_state())
                                                    : closing_.count(id) + written_.count(id) > 0;
    if (stopping_) {
      return absl::UnavailableError("the parameter server is stopping");
    }
    if (!is_closing) {
      return absl::OkStatus();
    }
    if (options_.clock() > deadline) {
      return absl::FailedPreconditionError(
          absl::StrCat("experiment ", id, " is over, but its workers have not ended yet; try again in a minute"));
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
    if (active_.count(id) > 0 || !IsOver(record->state)) {
      return absl::FailedPreconditionError(absl::StrCat("experiment ", id, " is ",
                                                        RunStateName(ViewLocked(*record).record.state),
                                                        "; only one that has ended can be deleted: stop it first"));
    }
    output_folder = record->output_folder;
    deleting_.insert(id);  // Nobody else changes it now.
  }
  // The folders first: after an error it is still known, and can be deleted again. They may be large.
  absl::Status status = RemoveFolder(RunFolder(id));
  if (status.ok() && output_folder.find(id) != std::string::npos) {  // Else it is not its own.
    status = RemoveFolder(output_folder);
  }
  if (status.ok()) {
    status = store_->Delete(id);
  }
  {
    MutexLock lock(&mutex_);
    deleting_.erase(id);
    if (status.ok()) {
      records_.erase(id);
      needs_.erase(id);
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
