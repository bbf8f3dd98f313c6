#include "param_server/experiments/submit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/array_spec.h"
#include "param_server/experiments/population.h"

namespace waggle {
namespace {

constexpr size_t kMaxSubmittedBytes = size_t{1} << 20;
constexpr int kMostIds = 10;

absl::Status CheckSubmission(const Submission& submission) {
  const size_t bytes = std::max(submission.submitted_yaml.size(), submission.effective_yaml.size());
  if (bytes > kMaxSubmittedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("experiment: wanted at most ", kMaxSubmittedBytes, " bytes; got ", bytes));
  }
  if (submission.priority < -kMaxExperimentPriority || submission.priority > kMaxExperimentPriority) {
    return absl::InvalidArgumentError(absl::StrCat("priority: got ", submission.priority, "; wanted ",
                                                   -kMaxExperimentPriority, " to ", kMaxExperimentPriority));
  }
  return submission.request_id.empty() ? absl::OkStatus() : Annotate(ValidateName(submission.request_id), "request_id");
}

// FAILED_PRECONDITION if one of `count` further experiments would have to share its output folder.
absl::Status CheckOwnFolders(HostState* host, size_t count) {
  if (host->OutputFolder("a") != host->OutputFolder("b")) {
    return absl::OkStatus();
  }
  const std::string folder = host->OutputFolder("");
  if (count > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this parameter server takes no population, as its --output-dir, ", folder, ", does not contain {id}"));
  }
  MutexLock lock(&host->mutex);
  for (const auto& [id, other] : host->records) {
    if (other.output_folder == folder) {
      return absl::FailedPreconditionError(absl::StrCat("this parameter server takes no experiment beside ", id,
                                                        ", as its --output-dir, ", folder, ", does not contain {id}"));
    }
  }
  return absl::OkStatus();
}

// The experiment with this id, and the others of its population, in the order of their submission.
std::vector<std::string> WithItsPopulation(HostState* host, const std::string& id) {
  MutexLock lock(&host->mutex);
  const auto found = host->records.find(id);
  const std::string population = found == host->records.end() ? "" : found->second.membership.population;
  if (population.empty()) {
    return {id};
  }
  std::vector<std::string> ids;
  for (const auto& [sequence, record] : host->by_sequence) {
    if (record->membership.population == population) {
      ids.push_back(record->id);
    }
  }
  return ids;
}

ExperimentRecord NewRecord(const Experiment& experiment, int64_t priority) {
  ExperimentRecord record;
  record.name = experiment.experiment.name;
  record.algorithm = experiment.algorithm;
  record.environment = experiment.environment.name;
  record.seed = experiment.experiment.seed;
  record.priority = priority;
  record.software_version = kVersion;
  record.submitted = absl::Now();
  return record;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SaveSubmission(HostState* host, const Submission& submission) {
  WAGGLE_RETURN_IF_ERROR(CheckSubmission(submission));
  WAGGLE_ASSIGN_OR_RETURN(Experiment experiment,
                          ParseExperiment(submission.effective_yaml, "the experiment", {}, *host->options.algorithms));
  const bool is_population = experiment.experiment.population.is_given();
  std::vector<Experiment> members = {std::move(experiment)};
  if (is_population) {
    WAGGLE_ASSIGN_OR_RETURN(members, MakeMembers(members.front(), *host->options.algorithms));
  }
  std::vector<ExperimentStore::NewExperiment> saved;
  for (const Experiment& member : members) {
    // The first of them names the request.
    const std::string request_id = saved.empty() ? submission.request_id : "";
    saved.emplace_back(NewRecord(member, submission.priority),
                       ExperimentTexts{request_id, submission.submitted_yaml, ToYaml(member), ""});
  }
  MutexLock writing(&host->writing);
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<std::string> known, host->store->IdOfRequest(submission.request_id));
  if (known.has_value()) {
    return WithItsPopulation(host, *known);  // A repeated request: its answer was lost.
  }
  WAGGLE_RETURN_IF_ERROR(CheckOwnFolders(host, members.size()));
  absl::Status added = absl::AlreadyExistsError("");
  for (int attempt = 0; attempt < kMostIds && absl::IsAlreadyExists(added); ++attempt) {
    const std::string id = HostState::NewId(saved.front().first.name);
    for (size_t i = 0; i < saved.size(); ++i) {
      ExperimentRecord& record = saved[i].first;
      record.id = is_population ? absl::StrCat(id, "-", i) : id;
      record.membership.population = is_population ? id : "";
      record.output_folder = host->OutputFolder(record.id);
    }
    added = host->store->AddAll(&saved, HostState::WithTrace("submitted"));
  }
  WAGGLE_RETURN_IF_ERROR(added);
  std::vector<std::string> ids;
  MutexLock lock(&host->mutex);
  for (size_t i = 0; i < saved.size(); ++i) {
    const ExperimentRecord& record = saved[i].first;
    LogInfo("experiment ", record.id, " is in the queue: ", record.algorithm, " on ", record.environment);
    host->Add(record);
    host->pending_runs[record.id].needs = host->Needs(record, members[i]);
    ids.push_back(record.id);
  }
  return ids;
}

}  // namespace waggle
