#include "common/rl/checkpoint/saved_weights.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/yaml_file.h"
#include "common/rl/checkpoint/saved_model.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;

constexpr char kWanted[] =
    "wanted a run's folder, an experiment's folder in a parameter server's data folder, or a folder of weights or of a "
    "learner's checkpoints";
constexpr char kOrFile[] = "; or an experiment's file, FILE.yaml, for random actions";
// A running experiment may replace saved files while they are read.
constexpr int kMostAttempts = 5;

struct Place {
  std::string folder;
  SavedKind kind = SavedKind::kWeights;
};

// Paths of weights below a folder, the best choice first.
constexpr struct {
  const char* folder;
  SavedKind kind;
} kPlaces[] = {
    {"", SavedKind::kWeights},
    {"hub/weights/best", SavedKind::kBest},
    {"weights/best", SavedKind::kBest},
    {"best", SavedKind::kBest},
    {"hub/weights/newest", SavedKind::kNewest},
    {"weights/newest", SavedKind::kNewest},
    {"newest", SavedKind::kNewest},
    {"checkpoints", SavedKind::kLearner},
    {"output/checkpoints", SavedKind::kLearner},
};

// True if the folder has a checkpoint, whole or damaged.
absl::StatusOr<bool> HoldsCheckpoint(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return false;
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointStore> store, CheckpointStore::OpenToRead(folder));
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<int64_t> step, store->NewestStep());
  return step.has_value();
}

// The folders of a parameter server's experiments. `path` is its data folder, or the folder of a run that has one.
std::vector<std::string> ExperimentsIn(const std::string& path) {
  std::vector<std::string> folders;
  for (const char* const experiments : {"hub/experiments", "experiments"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(absl::StrCat(path, "/", experiments), error)) {
      folders.push_back(entry.path().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// The first place of a kind that is wanted.
absl::StatusOr<Place> FindPlace(const std::string& path, bool (*is_wanted)(SavedKind kind)) {
  const std::vector<std::string> experiments = ExperimentsIn(path);
  for (const auto& [folder, kind] : kPlaces) {
    if (!is_wanted(kind)) {
      continue;
    }
    std::vector<std::string> candidates = {*folder == '\0' ? path : absl::StrCat(path, "/", folder)};
    if (experiments.size() == 1) {
      candidates.push_back(absl::StrCat(experiments[0], "/", folder));
    }
    for (const std::string& candidate : candidates) {
      WAGGLE_ASSIGN_OR_RETURN(const bool found, HoldsCheckpoint(candidate));
      if (found) {
        return Place{candidate, kind};
      }
    }
  }
  if (experiments.size() > 1) {
    return absl::NotFoundError(
        absl::StrCat(path, " has ", experiments.size(),
                     " experiments; wanted the folder of one: ", absl::StrJoin(experiments, ", ")));
  }
  std::error_code error;
  return absl::NotFoundError(
      absl::StrCat(path, fs::is_empty(path, error) ? " is empty" : " holds no saved weights", "; ", kWanted));
}

// Loads the newest whole checkpoint of a folder that had one a moment ago.
absl::StatusOr<CheckpointContents> LoadNewest(const std::string& folder) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointStore> store, CheckpointStore::OpenToRead(folder));
  absl::StatusOr<std::optional<CheckpointContents>> contents = std::optional<CheckpointContents>();
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<int64_t> before, store->NewestStep());
    contents = store->LoadLatest();
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<int64_t> after, store->NewestStep());
    if ((contents.ok() && contents->has_value()) || before == after) {
      break;
    }
  }
  WAGGLE_RETURN_IF_ERROR(contents.status());
  if (!contents->has_value()) {
    return absl::NotFoundError(absl::StrCat("the checkpoints in ", folder, " were removed"));
  }
  return **std::move(contents);
}

absl::StatusOr<SavedWeights> FromContents(CheckpointContents contents, Place place) {
  SavedWeights weights;
  weights.kind = place.kind;
  weights.folder = std::move(place.folder);
  if (contents.texts.count(kCheckpointAlgorithm) > 0) {
    const auto experiment = contents.texts.find(kCheckpointExperiment);
    if (experiment == contents.texts.end()) {
      return absl::InvalidArgumentError(absl::StrCat(weights.folder, " names no experiment: an older Waggle wrote it"));
    }
    weights.kind = SavedKind::kLearner;
    weights.experiment_yaml = experiment->second;
    weights.learner = std::move(contents);
    return weights;
  }
  absl::StatusOr<SavedModel> model = ToSavedModel(contents);
  if (!model.ok()) {
    return Annotate(model.status(), weights.folder);
  }
  weights.experiment_yaml = std::move(model->experiment_yaml);
  weights.snapshot = std::move(model->snapshot);
  weights.env_steps = static_cast<double>(model->snapshot.progress.env_steps);
  return weights;
}

// The step in "step-000000012345".
std::optional<int64_t> StepOf(const fs::path& path) {
  const std::string name = path.filename().string();
  absl::string_view rest = name;
  int64_t step = 0;
  if (absl::ConsumePrefix(&rest, "step-") && absl::SimpleAtoi(rest, &step)) {
    return step;
  }
  return std::nullopt;
}

}  // namespace

const char* SavedKindName(SavedKind kind) {
  switch (kind) {
    case SavedKind::kRandom:
      return "random";
    case SavedKind::kBest:
      return "best";
    case SavedKind::kNewest:
      return "newest";
    case SavedKind::kLearner:
      return "learner_checkpoint";
    default:
      return "weights";
  }
}

namespace {

// Without the empty last part of "runs/x/".
fs::path Normal(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

// Loads from a folder. `find` finds the place, unless it is a single checkpoint's.
absl::StatusOr<SavedWeights> Load(const std::string& path, absl::StatusOr<Place> (*find)(const std::string& folder)) {
  const fs::path folder = Normal(path);
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return absl::NotFoundError(
        absl::StrCat(path, fs::exists(folder, error) ? " is a file; " : " is not there; ", kWanted));
  }
  if (const std::optional<int64_t> step = StepOf(folder); step.has_value()) {
    const std::string parent = folder.has_parent_path() ? folder.parent_path().string() : ".";
    WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointStore> store, CheckpointStore::OpenToRead(parent));
    WAGGLE_ASSIGN_OR_RETURN(CheckpointContents contents, store->LoadStep(*step));
    return FromContents(std::move(contents), {folder.string(), SavedKind::kWeights});
  }
  WAGGLE_ASSIGN_OR_RETURN(Place place, find(folder.string()));
  WAGGLE_ASSIGN_OR_RETURN(CheckpointContents contents, LoadNewest(place.folder));
  return FromContents(std::move(contents), std::move(place));
}

bool IsExperimentFile(const std::string& path) {
  const fs::path file = Normal(path);
  std::error_code error;
  return !fs::is_directory(file, error) && (file.extension() == ".yaml" || file.extension() == ".yml");
}

}  // namespace

absl::StatusOr<SavedWeights> LoadTrainedWeights(const std::string& path, bool newest) {
  if (IsExperimentFile(path)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is an experiment's file; ", kWanted));
  }
  const auto find_best = [](const std::string& folder) { return FindPlace(folder, [](SavedKind) { return true; }); };
  const auto find_newest = [](const std::string& folder) {
    return FindPlace(folder, [](SavedKind kind) { return kind != SavedKind::kBest; });
  };
  return newest ? Load(path, find_newest) : Load(path, find_best);
}

absl::StatusOr<SavedWeights> LoadSavedWeights(const std::string& path, bool newest) {
  if (IsExperimentFile(path)) {
    SavedWeights random;
    random.kind = SavedKind::kRandom;
    random.folder = Normal(path).string();
    WAGGLE_ASSIGN_OR_RETURN(random.experiment_yaml, ReadYamlFile(random.folder));
    return random;
  }
  absl::StatusOr<SavedWeights> weights = LoadTrainedWeights(path, newest);
  if (!weights.ok() && absl::EndsWith(weights.status().message(), kWanted)) {
    return absl::Status(weights.status().code(), absl::StrCat(weights.status().message(), kOrFile));
  }
  return weights;
}

absl::StatusOr<SavedWeights> LoadSavedNetworks(const std::string& path) {
  return Load(path, [](const std::string& folder) {
    absl::StatusOr<Place> learner =
        FindPlace(folder, [](SavedKind kind) { return kind == SavedKind::kLearner || kind == SavedKind::kWeights; });
    return absl::IsNotFound(learner.status()) ? FindPlace(folder, [](SavedKind) { return true; }) : learner;
  });
}

}  // namespace waggle
