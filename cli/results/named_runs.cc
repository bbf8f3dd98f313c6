#include "cli/results/named_runs.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/experiments/experiment_client.h"
#include "cli/results/fetch.h"
#include "common/base/annotate.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr size_t kLongestId = 100;
constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);

// Says of a word that the hub does not know that it is no path either.
template <class T>
absl::StatusOr<T> Known(const std::string& word, absl::StatusOr<T> answer) {
  if (absl::IsNotFound(answer.status())) {
    return Annotate(answer.status(), absl::StrCat("there is no file or folder ", word, " here"));
  }
  return answer;
}

bool IsId(const std::string& word) {
  return !word.empty() && word.size() <= kLongestId && absl::ascii_isalnum(word[0]) &&
         std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

}  // namespace

bool NamesExperiment(const std::string& word) {
  std::error_code error;
  return IsId(word) && !std::filesystem::exists(word, error);
}

absl::StatusOr<std::unique_ptr<NamedRuns>> NamedRuns::Find(const std::vector<std::string>& words,
                                                           const std::string& param_server, Members members,
                                                           const StopToken& stop) {
  auto runs = std::unique_ptr<NamedRuns>(new NamedRuns());
  for (const std::string& word : words) {
    WAGGLE_RETURN_IF_ERROR(runs->Add(word, param_server, members, stop));
  }
  return runs;
}

NamedRuns::~NamedRuns() {
  if (!temporary_.empty()) {
    RemoveAll(temporary_).IgnoreError();
  }
}

absl::Status NamedRuns::Add(const std::string& word, const std::string& param_server, Members members,
                            const StopToken& stop) {
  if (!NamesExperiment(word)) {
    paths_.push_back(word);
    return absl::OkStatus();
  }
  if (param_server.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no file or folder ", word,
                                            " here; if it is an experiment's id, name its hub by --param-server or "
                                            "WAGGLE_PARAM_SERVER"));
  }
  if (temporary_.empty()) {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "waggle-runs-XXXXXX").string();
    if (error || mkdtemp(path.data()) == nullptr) {
      return FileError(error ? error.value() : errno, path, "create it");
    }
    temporary_ = path;
  }
  const ExperimentClient client(param_server);
  v1::ResolveResponse found;
  if (members == Members::kAll) {
    WAGGLE_ASSIGN_OR_RETURN(found, Known(word, client.Resolve(word, kAnswerTimeout, stop)));
  } else {
    WAGGLE_ASSIGN_OR_RETURN(*found.add_ids(), Known(word, client.ResolveOne(word, kAnswerTimeout, stop)));
  }
  WAGGLE_ASSIGN_OR_RETURN(const FetchedGroup fetched,
                          FetchAll(param_server, {found.ids().begin(), found.ids().end()}, temporary_, stop));
  for (const FetchedRun& run : fetched.runs) {
    paths_.push_back(run.folder);
  }
  left_out_.insert(left_out_.end(), fetched.without_files.begin(), fetched.without_files.end());
  return absl::OkStatus();
}

}  // namespace waggle
