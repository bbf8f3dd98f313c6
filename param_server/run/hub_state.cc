#include "param_server/run/hub_state.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"

namespace waggle {
namespace {

constexpr char kFileName[] = "hub.state";
constexpr char kLockName[] = "hub.lock";
constexpr char kMagic[] = "waggle hub 2 ";
constexpr char kEarlierMagic[] = "waggle hub 1 ";
constexpr char kExperimentLine[] = "\nexperiment\n";
constexpr size_t kMaxFileBytes = size_t{16} << 20;

constexpr std::pair<RunState, const char*> kOutcomes[] = {
    {RunState::kRunning, "running"}, {RunState::kFinishing, "finishing"}, {RunState::kSolved, "solved"},
    {RunState::kLimit, "limit"},     {RunState::kFailed, "failed"},       {RunState::kStopped, "stopped"}};

std::string ChecksumText(absl::string_view body) {
  return absl::StrCat(absl::Hex(Checksum(body.data(), body.size()), absl::kZeroPad16));
}

// Text that parses to exactly the same double.
std::string Exact(double value) {
  return absl::StrFormat("%.17g", value);
}

constexpr size_t kEvaluationParts = 9;

std::string EvaluationText(const Evaluation& evaluation) {
  return absl::StrCat(evaluation.version.epoch, " ", evaluation.version.version, " ", evaluation.episodes, " ",
                      Exact(evaluation.mean_return), " ", Exact(evaluation.min_return), " ",
                      Exact(evaluation.max_return), " ", Exact(evaluation.standard_deviation), " ",
                      Exact(evaluation.mean_length), " ", evaluation.env_steps);
}

// Parses the first kEvaluationParts parts.
bool ParseEvaluation(const std::vector<std::string>& parts, Evaluation* out) {
  return absl::SimpleAtoi(parts[0], &out->version.epoch) && absl::SimpleAtoi(parts[1], &out->version.version) &&
         absl::SimpleAtoi(parts[2], &out->episodes) && absl::SimpleAtod(parts[3], &out->mean_return) &&
         absl::SimpleAtod(parts[4], &out->min_return) && absl::SimpleAtod(parts[5], &out->max_return) &&
         absl::SimpleAtod(parts[6], &out->standard_deviation) && absl::SimpleAtod(parts[7], &out->mean_length) &&
         absl::SimpleAtoi(parts[8], &out->env_steps);
}

bool ParseLastEvaluation(const std::string& text, std::optional<DatedEvaluation>* out) {
  const std::vector<std::string> parts = absl::StrSplit(text, ' ');
  DatedEvaluation dated;
  int64_t finished_us = 0;
  if (parts.size() != kEvaluationParts + 2 || !ParseEvaluation(parts, &dated.evaluation) ||
      !absl::SimpleAtoi(parts[kEvaluationParts], &finished_us)) {
    return false;
  }
  dated.finished = absl::FromUnixMicros(finished_us);
  dated.worker_id = parts[kEvaluationParts + 1];
  *out = std::move(dated);
  return true;
}

bool ParseResult(const std::string& text, std::optional<RunResult>* out) {
  *out = DecodeRunResult(text);
  return out->has_value();
}

bool ParseCandidate(const std::string& text, std::vector<Evaluation>* candidates) {
  const std::vector<std::string> parts = absl::StrSplit(text, ' ');
  candidates->emplace_back();
  return parts.size() == kEvaluationParts && ParseEvaluation(parts, &candidates->back());
}

constexpr Role kRolesWithLives[] = {Role::kActor, Role::kEvaluator};

bool ParseLives(const std::string& text, std::map<std::pair<Role, int64_t>, uint64_t>* lives) {
  const std::vector<std::string> parts = absl::StrSplit(text, ' ');
  int64_t index = 0;
  for (const Role role : kRolesWithLives) {
    if (parts.size() == 3 && parts[0] == RoleName(role) && absl::SimpleAtoi(parts[1], &index)) {
      return absl::SimpleAtoi(parts[2], &(*lives)[{role, index}]);
    }
  }
  return false;
}

bool ParseStepsOf(const std::string& text, std::map<std::string, double>* steps_of) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
  return absl::SimpleAtod(parts.second, &(*steps_of)[parts.first]);
}

// Parses pairs NAME VALUE from the part `first` on.
bool ParseNumbers(const std::vector<std::string>& parts, size_t first, std::map<std::string, double>* numbers) {
  for (size_t i = first; i + 1 < parts.size(); i += 2) {
    if (!absl::SimpleAtod(parts[i + 1], &(*numbers)[parts[i]])) {
      return false;
    }
  }
  return (parts.size() - first) % 2 == 0;
}

bool ParseTotals(const std::string& key, const std::string& text, RunTotals* totals) {
  const std::vector<std::string> parts = absl::StrSplit(text, ' ');
  return key == "total"    ? ParseNumbers(parts, 0, &totals->all)
         : key == "unseen" ? ParseNumbers(parts, 0, &totals->unseen)
                           : key == "counts_of" && ParseNumbers(parts, 1, &totals->of[parts[0]]);
}

absl::Status ParseLine(const std::string& key, const std::string& value, HubRecord* record) {
  int64_t number = 0;
  RunProgress& progress = record->progress;
  if ((key == "env_steps" && absl::SimpleAtod(value, &progress.env_steps)) ||
      (key == "learner_steps" && absl::SimpleAtod(value, &progress.learner_steps)) ||
      (key == "lives" && ParseLives(value, &record->lives)) ||
      (key == "steps_of" && ParseStepsOf(value, &progress.steps_of)) ||
      (key == "last_evaluation" && ParseLastEvaluation(value, &record->last_evaluation)) ||
      (key == "result" && ParseResult(value, &progress.result)) ||
      (key == "candidate" && ParseCandidate(value, &progress.candidates)) || ParseTotals(key, value, &record->totals)) {
    return absl::OkStatus();
  }
  if (key == "last_epoch" && absl::SimpleAtoi(value, &record->last_epoch)) {
    return absl::OkStatus();
  }
  if (key == "started_us" && absl::SimpleAtoi(value, &number)) {
    return absl::OkStatus();  // Files of earlier versions have it; it is not used any more.
  }
  if (key == "running_us" && absl::SimpleAtoi(value, &number)) {
    progress.running = absl::Microseconds(number);
    return absl::OkStatus();
  }
  if (key == "outcome_reason" && absl::CUnescape(value, &progress.reason)) {
    return absl::OkStatus();
  }
  for (const auto& [state, name] : kOutcomes) {
    if (key == "outcome" && value == name) {
      progress.state = state;
      return absl::OkStatus();
    }
  }
  return absl::DataLossError(
      absl::StrCat("cannot read the line \"", absl::CHexEscape(key), " ", absl::CHexEscape(value), "\""));
}

}  // namespace

std::string EncodeRunResult(const RunResult& result) {
  return absl::StrCat(EvaluationText(result.evaluation), " ", result.confirmed);
}

std::optional<RunResult> DecodeRunResult(const std::string& line) {
  const std::vector<std::string> parts = absl::StrSplit(line, ' ');
  RunResult result;
  if (parts.size() != kEvaluationParts + 1 || !ParseEvaluation(parts, &result.evaluation) ||
      !absl::SimpleAtob(parts[kEvaluationParts], &result.confirmed)) {
    return std::nullopt;
  }
  return result;
}

bool operator==(const HubRecord& a, const HubRecord& b) {
  return EncodeHubRecord(a) == EncodeHubRecord(b);
}

std::string EncodeHubRecord(const HubRecord& record) {
  std::string body = absl::StrCat("last_epoch ", record.last_epoch, "\n");
  if (record.progress.running.has_value()) {
    absl::StrAppend(&body, "running_us ", absl::ToInt64Microseconds(*record.progress.running), "\n");
  }
  absl::StrAppend(&body, "env_steps ", Exact(record.progress.env_steps), "\nlearner_steps ",
                  Exact(record.progress.learner_steps), "\n");
  for (const auto& [whose, lives] : record.lives) {
    absl::StrAppend(&body, "lives ", RoleName(whose.first), " ", whose.second, " ", lives, "\n");
  }
  for (const auto& [worker_id, steps] : record.progress.steps_of) {
    absl::StrAppend(&body, "steps_of ", worker_id, " ", Exact(steps), "\n");
  }
  for (const auto& [name, total] : record.totals.all) {
    absl::StrAppend(&body, "total ", name, " ", Exact(total), "\n");
  }
  for (const auto& [name, unseen] : record.totals.unseen) {
    absl::StrAppend(&body, "unseen ", name, " ", Exact(unseen), "\n");
  }
  for (const auto& [worker_id, numbers] : record.totals.of) {
    absl::StrAppend(&body, "counts_of ", worker_id);
    for (const auto& [name, number] : numbers) {
      absl::StrAppend(&body, " ", name, " ", Exact(number));
    }
    absl::StrAppend(&body, "\n");
  }
  if (const std::optional<DatedEvaluation>& last = record.last_evaluation; last.has_value()) {
    absl::StrAppend(&body, "last_evaluation ", EvaluationText(last->evaluation), " ",
                    absl::ToUnixMicros(last->finished), " ", last->worker_id, "\n");
  }
  if (const std::optional<RunResult>& result = record.progress.result; result.has_value()) {
    absl::StrAppend(&body, "result ", EncodeRunResult(*result), "\n");
  }
  for (const Evaluation& candidate : record.progress.candidates) {
    absl::StrAppend(&body, "candidate ", EvaluationText(candidate), "\n");
  }
  for (const auto& [state, name] : kOutcomes) {
    if (record.progress.state == state) {
      absl::StrAppend(&body, "outcome ", name, "\n");
    }
  }
  absl::StrAppend(&body, "outcome_reason ", absl::CEscape(record.progress.reason), kExperimentLine,
                  record.experiment_yaml);
  return absl::StrCat(kMagic, ChecksumText(body), "\n", body);
}

absl::StatusOr<HubRecord> DecodeHubRecord(absl::string_view text) {
  const size_t line_end = text.find('\n');
  if (text.substr(0, sizeof(kEarlierMagic) - 1) == kEarlierMagic) {
    return absl::DataLossError("was written by an earlier version of Waggle, in format 1; this one reads format 2");
  }
  if (text.substr(0, sizeof(kMagic) - 1) != kMagic || line_end == absl::string_view::npos) {
    return absl::DataLossError(absl::StrCat("does not begin with \"", kMagic, "\""));
  }
  const absl::string_view checksum = text.substr(sizeof(kMagic) - 1, line_end - (sizeof(kMagic) - 1));
  const absl::string_view body = text.substr(line_end + 1);
  if (checksum != ChecksumText(body)) {
    return absl::DataLossError(
        absl::StrCat("the checksum is ", ChecksumText(body), "; the file says ", absl::CHexEscape(checksum)));
  }
  const size_t experiment = body.find(kExperimentLine);
  if (experiment == absl::string_view::npos) {
    return absl::DataLossError("has no line \"experiment\"");
  }
  HubRecord record;
  record.experiment_yaml = std::string(body.substr(experiment + sizeof(kExperimentLine) - 1));
  for (const absl::string_view line : absl::StrSplit(body.substr(0, experiment), '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    WAGGLE_RETURN_IF_ERROR(ParseLine(parts.first, parts.second, &record));
  }
  return record;
}

absl::StatusOr<HubRecord> HubState::Read(const std::string& folder) {
  const std::string path = FileIn(folder);
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxFileBytes);
  if (absl::IsNotFound(text.status())) {
    return HubRecord();
  }
  WAGGLE_RETURN_IF_ERROR(text.status());
  absl::StatusOr<HubRecord> record = DecodeHubRecord(*text);
  if (!record.ok()) {
    return absl::DataLossError(
        absl::StrCat(path, " is damaged (", record.status().message(), "); move it away to begin anew"));
  }
  return record;
}

absl::StatusOr<std::unique_ptr<HubState>> HubState::Open(const std::string& folder) {
  WAGGLE_ASSIGN_OR_RETURN(
      File lock_file, LockFolder(folder, kLockName,
                                 "another parameter server uses this folder; give each one a --data-dir of its own"));
  auto state = std::unique_ptr<HubState>(new HubState(folder, std::move(lock_file)));
  WAGGLE_ASSIGN_OR_RETURN(HubRecord record, Read(folder));
  // Written at once, so that a folder that cannot be written to is an error now, not when a learner joins.
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(FileIn(folder), EncodeHubRecord(record)));
  MutexLock lock(&state->mutex_);
  state->last_epoch_ = record.last_epoch;
  state->record_ = std::move(record);
  return state;
}

std::string HubState::FileIn(const std::string& folder) {
  return absl::StrCat(folder, "/", kFileName);
}

HubRecord HubState::record() const {
  MutexLock lock(&mutex_);
  return record_;
}

absl::Status HubState::Update(const std::function<void(HubRecord*)>& change) {
  MutexLock lock(&mutex_);  // Held while writing, so that an older record never replaces a newer one.
  HubRecord changed = record_;
  change(&changed);
  if (changed == record_) {
    return absl::OkStatus();
  }
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(FileIn(folder_), EncodeHubRecord(changed)));
  record_ = std::move(changed);
  last_epoch_ = record_.last_epoch;
  return absl::OkStatus();
}

absl::Status HubState::Adopt(const std::string& experiment_yaml) {
  const std::string stored = record().experiment_yaml;
  if (!stored.empty() && stored != experiment_yaml) {
    return absl::FailedPreconditionError("the folder holds another experiment");
  }
  return Update([&experiment_yaml](HubRecord* record) { record->experiment_yaml = experiment_yaml; });
}

absl::StatusOr<uint64_t> HubState::TakeEpoch() {
  uint64_t epoch = 0;
  WAGGLE_RETURN_IF_ERROR(Update([&epoch](HubRecord* record) { epoch = ++record->last_epoch; }));
  return epoch;
}

absl::Status HubState::Number(Role role, int64_t index, WorkerArrival* arrival) {
  absl::Status status;
  if (role == Role::kLearner && arrival->epoch > last_epoch()) {
    return absl::FailedPreconditionError(
        absl::StrCat("epoch: got ", arrival->epoch, "; wanted at most ", last_epoch(),
                     ", the largest that a learner of this run was given; a parameter server whose --data-dir was lost "
                     "needs new learners"));
  }
  if (role == Role::kLearner && arrival->epoch == 0) {
    status = Annotate(Update([arrival](HubRecord* record) { arrival->epoch = ++record->last_epoch; }),
                      "the parameter server cannot save this learner's epoch");
  } else if (role == Role::kActor || role == Role::kEvaluator) {
    status = Update([&](HubRecord* record) {
      uint64_t& lives = record->lives[{role, index}];
      const uint64_t life = arrival->life.value_or(lives);
      arrival->life = life;
      lives = std::max(lives, life + 1);
      if (role == Role::kActor) {
        record->progress.steps_of.emplace(arrival->worker_id, 0);  // So that a later hub waits for its lease.
      }
    });
    if (!status.ok()) {  // The disk may be full for a moment: the worker must try again, not end.
      status = absl::UnavailableError(
          absl::StrCat("the parameter server cannot save this worker's life: ", status.message()));
    }
  }
  if (!status.ok()) {
    LogError(RoleName(role), " ", index, " cannot join: ", status.message());
  }
  return status;
}

}  // namespace waggle
