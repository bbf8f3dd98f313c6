#include "cli/results/write_card.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/export/export_policy.h"
#include "cli/results/draft_folder.h"
#include "cli/results/model_card.h"
#include "cli/results/run_program.h"
#include "common/base/annotate.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"
#include "common/rl/checkpoint/saved_weights.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kReadme[] = "README.md";
constexpr char kFilms[] = "films";
constexpr size_t kLongestText = size_t{16} << 20;

absl::Status CheckFree(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) {
    return absl::OkStatus();
  }
  const std::string readme = ReadSmallFile(absl::StrCat(folder, "/", kReadme), kLongestText).value_or("");
  if (fs::is_directory(folder, error) && (fs::is_empty(folder, error) || absl::StartsWith(readme, kCardBeginning))) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat(folder, " is there already; wanted a new folder, or that of an earlier card"));
}

absl::Status Copy(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy_file(from, to, error);
  return error ? FileError(error.value(), to, "copy it") : absl::OkStatus();
}

// Copies the run's curves, if they are there. True if they were.
absl::StatusOr<bool> CopyCurves(const std::string& run, const DraftFolder& draft) {
  const std::string from = absl::StrCat(run, "/curves.png");
  std::error_code error;
  if (!fs::is_regular_file(from, error)) {
    return false;
  }
  WAGGLE_RETURN_IF_ERROR(Copy(from, draft.File("curves.png")));
  return true;
}

// Copies the checkpoints of a folder of weights.
absl::Status CopyWeights(const std::string& folder, const DraftFolder& draft) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    const std::string file = absl::StrCat(folder, "/", name, "/checkpoint.safetensors");
    std::error_code error;
    if (absl::StartsWith(name, "step-") && fs::is_regular_file(file, error)) {
      const std::string to = draft.File(absl::StrCat("best/", name));
      WAGGLE_RETURN_IF_ERROR(CreateFolders(to));
      WAGGLE_RETURN_IF_ERROR(Copy(file, absl::StrCat(to, "/checkpoint.safetensors")));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Film(const CardFlags& flags, const std::string& binary_folder,
                                              const DraftFolder& draft, const StopToken& stop) {
  EvaluationFlags evaluation;
  evaluation.path = draft.File("best");
  evaluation.episodes = flags.video_episodes;
  evaluation.seed = 1;
  evaluation.video = draft.File(kFilms);
  evaluation.video_episodes = flags.video_episodes;
  evaluation.json = true;
  std::vector<std::string> command = ActorArguments(evaluation);
  command.insert(command.begin(), absl::StrCat(binary_folder, "/waggle-actor"));
  const std::string log = draft.File("film.log");
  WAGGLE_ASSIGN_OR_RETURN(const int status, RunProgram(command, stop, log));
  const std::string said = ReadSmallFile(log, kLongestText).value_or("");
  WAGGLE_RETURN_IF_ERROR(RemoveAll(log));
  if (stop.StopRequested()) {
    return absl::CancelledError("interrupted");
  }
  if (status != 0) {
    return absl::UnknownError(
        absl::StrCat("filming ended with status ", status, ": ", absl::StripAsciiWhitespace(said)));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::vector<std::string> films, ListFolder(draft.File(kFilms)));
  std::sort(films.begin(), films.end());
  for (std::string& film : films) {
    film = absl::StrCat(kFilms, "/", film);
  }
  return films;
}

}  // namespace

absl::StatusOr<std::string> WriteCard(const std::string& run, const std::string& folder, const CardFlags& flags,
                                      const std::string& binary_folder, const StopToken& stop) {
  std::error_code error;
  const std::string summary_path = absl::StrCat(run, "/summary.json");
  if (!fs::is_directory(run, error)) {
    return absl::NotFoundError(absl::StrCat(run, " is not there; wanted a run's folder"));
  }
  if (!fs::exists(summary_path, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat(run, " has no summary.json: it is no run's folder, or the run has not ended"));
  }
  WAGGLE_RETURN_IF_ERROR(CheckFree(folder));
  WAGGLE_ASSIGN_OR_RETURN(const std::string summary_text, ReadSmallFile(summary_path, kLongestText));
  const Json summary = Json::parse(summary_text, nullptr, /*allow_exceptions=*/false);
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<DraftFolder> draft, DraftFolder::Create(folder));
  CardContents contents;
  // Before the weights: a wrong summary is told first.
  WAGGLE_RETURN_IF_ERROR(Annotate(ModelCard(summary, contents).status(), summary_path));
  WAGGLE_ASSIGN_OR_RETURN(const SavedWeights weights, LoadSavedWeights(run, /*newest=*/false));
  WAGGLE_RETURN_IF_ERROR(CopyWeights(weights.folder, *draft));
  contents.experiment_yaml = weights.experiment_yaml;
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(draft->File("experiment.yaml"), contents.experiment_yaml));
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(draft->File("summary.json"), summary_text));
  WAGGLE_ASSIGN_OR_RETURN(contents.has_curves, CopyCurves(run, *draft));
  // A policy that has no ONNX form has a card all the same.
  const auto exported = ExportSavedPolicy(run, /*newest=*/false, draft->File("policy.onnx"), stop);
  contents.has_policy = exported.ok();
  if (flags.video) {
    WAGGLE_ASSIGN_OR_RETURN(contents.films, Film(flags, binary_folder, *draft, stop));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::string card, ModelCard(summary, contents));
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(draft->File(kReadme), card));
  WAGGLE_RETURN_IF_ERROR(draft->Finish());
  return absl::StrCat("wrote ", folder, "\n",
                      exported.ok() ? "" : absl::StrCat("without policy.onnx: ", exported.status().message(), "\n"));
}

}  // namespace waggle
