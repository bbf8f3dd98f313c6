#include "param_server/experiments/submit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/array_spec.h"
#include "common/base/utf8.h"
#include "param_server/experiments/population.h"
#include "param_server/experiments/resume.h"

namespace waggle {
namespace {

constexpr size_t kMaxSubmittedBytes = size_t{1} << 20;
constexpr int kMostIds = 10;
constexpr size_t kMostMembers = 1'000;
constexpr size_t kMaxGroupBytes = size_t{64} << 20;
constexpr size_t kMostTags = 20;
constexpr size_t kMostSettings = 20;
constexpr size_t kMaxLabelBytes = 1'000;

// Texts that are lines in the store.
absl::Status CheckLine(const std::string& text, const char* what) {
  const bool has_controls =
      std::any_of(text.begin(), text.end(), [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
  if (text.empty() || text.size() > kMaxLabelBytes || has_controls || !IsUtf8(text)) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": got \"", absl::CHexEscape(text.substr(0, kMaxLabelBytes)),
                                                   "\"; wanted 1 to ", kMaxLabelBytes, " bytes of text on one line"));
  }
  return absl::OkStatus();
}

absl::Status CheckLabels(const Submission& submission) {
  if (submission.tags.size() > kMostTags) {
    return absl::InvalidArgumentError(
        absl::StrCat("tags: got ", submission.tags.size(), "; wanted at most ", kMostTags));
  }
  for (const std::string& tag : submission.tags) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(tag), "tag"));
  }
  if (!submission.owner.empty()) {
    WAGGLE_RETURN_IF_ERROR(CheckLine(submission.owner, "owner"));
  }
  if (submission.members.size() > kMostMembers) {
    return absl::InvalidArgumentError(
        absl::StrCat("members: got ", submission.members.size(), " experiments; wanted at most ", kMostMembers));
  }
  // The store has the text once for each member.
  if (submission.submitted_yaml.size() * submission.members.size() > kMaxGroupBytes) {
    return absl::InvalidArgumentError(absl::StrCat("members: got ", submission.members.size(), " experiments of ",
                                                   submission.submitted_yaml.size(), " bytes each; wanted at most ",
                                                   kMaxGroupBytes, " bytes together"));
  }
  for (const SubmittedMember& member : submission.members) {
    if (member.effective_yaml.size() > kMaxSubmittedBytes || member.settings.size() > kMostSettings) {
      return absl::InvalidArgumentError(absl::StrCat("members: got ", member.effective_yaml.size(), " bytes and ",
                                                     member.settings.size(), " settings; wanted at most ",
                                                     kMaxSubmittedBytes, " and ", kMostSettings));
    }
    for (const std::string& setting : member.settings) {
      WAGGLE_RETURN_IF_ERROR(CheckLine(setting, "settings"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSubmission(const Submission& submission) {
  const size_t bytes = std::max(submission.submitted_yaml.size(), submission.effective_yaml.size());
  if (bytes > kMaxSubmittedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("experiment: got ", bytes, " bytes; wanted at most ", kMaxSubmittedBytes));
  }
  WAGGLE_RETURN_IF_ERROR(CheckPriority(submission.priority));
  WAGGLE_RETURN_IF_ERROR(CheckLabels(submission));
  return submission.request_id.empty() ? absl::OkStatus() : Annotate(ValidateName(submission.request_id), "request_id");
}

// FAILED_PRECONDITION if one of `count` further experiments would have to share its output folder.
absl::Status CheckOwnFolders(HostState* host, size_t count) {
  if (host->OutputFolder("a") != host->OutputFolder("b")) {
    return absl::OkStatus();
  }
  const std::string folder = host->OutputFolder("");
  if (count > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("this parameter server takes no group, as its --output-dir, ", folder, ", does not contain {id}"));
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

// The experiment with this id, and the others of its group, in the order of their submission.
std::vector<std::string> WithItsGroup(HostState* host, const std::string& id) {
  MutexLock lock(&host->mutex);
  const auto found = host->records.find(id);
  const std::string group = found == host->records.end() ? "" : found->second.labels.group;
  if (group.empty()) {
    return {id};
  }
  std::vector<std::string> ids;
  for (const auto& [sequence, record] : host->by_sequence) {
    if (record->labels.group == group) {
      ids.push_back(record->id);
    }
  }
  return ids;
}

ExperimentRecord NewRecord(const Experiment& experiment, const Submission& submission) {
  ExperimentRecord record;
  record.name = experiment.experiment.name;
  record.algorithm = experiment.algorithm;
  record.environment = experiment.environment.name;
  record.seed = experiment.experiment.seed;
  record.priority = submission.priority;
  record.labels.tags = submission.tags;
  std::sort(record.labels.tags.begin(), record.labels.tags.end());
  record.labels.tags.erase(std::unique(record.labels.tags.begin(), record.labels.tags.end()), record.labels.tags.end());
  record.labels.owner = submission.owner;
  record.software_version = kVersion;
  record.submitted = absl::Now();
  return record;
}

// The experiments of a submission, in their order. The error is that of the first wrong one.
absl::StatusOr<std::vector<Experiment>> ParseMembers(const Submission& submission,
                                                     const AlgorithmDefinitions& algorithms) {
  if (submission.members.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(Experiment experiment,
                            ParseExperiment(submission.effective_yaml, "the experiment", {}, algorithms));
    if (experiment.experiment.population.is_given()) {
      return MakeMembers(experiment, algorithms);
    }
    std::vector<Experiment> one;
    one.push_back(std::move(experiment));
    return one;
  }
  std::vector<Experiment> members;
  for (const SubmittedMember& member : submission.members) {
    const std::string origin = absl::StrCat("the experiment with ", absl::StrJoin(member.settings, ", "));
    WAGGLE_ASSIGN_OR_RETURN(members.emplace_back(), ParseExperiment(member.effective_yaml, origin, {}, algorithms));
    if (members.back().experiment.population.is_given()) {
      return absl::InvalidArgumentError(
          "experiment.population: got one in a group; wanted none, as a population is a group by itself");
    }
  }
  return members;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SaveSubmission(HostState* host, const Submission& submission) {
  WAGGLE_RETURN_IF_ERROR(CheckSubmission(submission));
  WAGGLE_ASSIGN_OR_RETURN(std::vector<Experiment> members, ParseMembers(submission, *host->options.algorithms));
  const bool is_population = members.front().experiment.population.is_given();
  const bool is_group = is_population || !submission.members.empty();
  std::vector<ExperimentStore::NewExperiment> saved;
  for (const Experiment& member : members) {
    // The first of them names the request.
    const std::string request_id = saved.empty() ? submission.request_id : "";
    saved.emplace_back(NewRecord(member, submission),
                       ExperimentTexts{request_id, submission.submitted_yaml, ToYaml(member), ""});
    if (!is_population && is_group) {
      saved.back().first.labels.varied = submission.members[saved.size() - 1].settings;
    }
  }
  MutexLock writing(&host->writing);
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<std::string> known, host->store->IdOfRequest(submission.request_id));
  if (known.has_value()) {
    return WithItsGroup(host, *known);  // A repeated request: its answer was lost.
  }
  WAGGLE_RETURN_IF_ERROR(CheckOwnFolders(host, members.size()));
  absl::Status added = absl::AlreadyExistsError("");
  for (int attempt = 0; attempt < kMostIds && absl::IsAlreadyExists(added); ++attempt) {
    const std::string id = HostState::NewId(saved.front().first.name);
    for (size_t i = 0; i < saved.size(); ++i) {
      ExperimentRecord& record = saved[i].first;
      record.id = is_group ? absl::StrCat(id, "-", i) : id;
      record.labels.group = is_group ? id : "";
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
