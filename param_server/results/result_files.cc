#include "param_server/results/result_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "common/rl/checkpoint/saved_model.h"

namespace waggle {
namespace {

constexpr char kMetrics[] = "metrics.csv";
constexpr const char* kPlainFiles[] = {"summary.json", "experiment.yaml", kMetrics, "curves.png"};
constexpr char kEventsPrefix[] = "events.out.";
constexpr char kEvents[] = "events.out.*";
constexpr char kStepPrefix[] = "step-";
constexpr char kCheckpointFile[] = "checkpoint.safetensors";
constexpr char kBest[] = "best";
constexpr char kNewest[] = "newest";
// TensorBoard has one file for each start of a hub; weights have one folder, or two after an interrupted save.
constexpr size_t kMostOfAKind = 1'000;
// Longer than any piece that is written to a growing file at once.
constexpr int64_t kLongestTail = int64_t{1} << 20;

// A file by its name for users and its path.
struct Place {
  std::string name;
  std::string path;
};

// The names in a folder that begin with `prefix`, in order; empty if the folder cannot be read.
std::vector<std::string> NamesIn(const std::string& folder, absl::string_view prefix) {
  std::vector<std::string> names = ListFolder(folder).value_or(std::vector<std::string>());
  names.erase(std::remove_if(names.begin(), names.end(),
                             [prefix](const std::string& name) { return !absl::StartsWith(name, prefix); }),
              names.end());
  std::sort(names.begin(), names.end());
  names.resize(std::min(names.size(), kMostOfAKind));
  return names;
}

// The checkpoints in a folder of weights, which users get as `name`.
std::vector<Place> WeightsIn(const std::string& folder, const char* name) {
  std::vector<Place> places;
  for (const std::string& step : NamesIn(folder, kStepPrefix)) {
    const bool whole = std::all_of(step.begin() + std::char_traits<char>::length(kStepPrefix), step.end(),
                                   [](char c) { return c >= '0' && c <= '9'; });
    if (whole) {  // Otherwise it was set aside while another one took its place.
      places.push_back(
          {absl::StrCat(name, "/", step, "/", kCheckpointFile), absl::StrCat(folder, "/", step, "/", kCheckpointFile)});
    }
  }
  return places;
}

uint64_t IdentityOf(const struct stat& facts, bool grows) {
  const uint64_t numbers[] = {static_cast<uint64_t>(facts.st_dev), static_cast<uint64_t>(facts.st_ino),
                              grows ? 0 : static_cast<uint64_t>(facts.st_mtim.tv_sec),
                              grows ? 0 : static_cast<uint64_t>(facts.st_mtim.tv_nsec)};
  return Checksum(numbers, sizeof(numbers));
}

bool Grows(absl::string_view name) {
  return name == kMetrics || absl::StartsWith(name, kEventsPrefix);
}

// The size of a file of rows without an unfinished last row.
absl::StatusOr<int64_t> WholeRows(const File& file, int64_t size) {
  const int64_t begin = std::max<int64_t>(0, size - kLongestTail);
  WAGGLE_ASSIGN_OR_RETURN(const std::string tail, file.ReadAt(begin, size - begin));
  const size_t last = tail.rfind('\n');
  return last == std::string::npos ? 0 : begin + static_cast<int64_t>(last) + 1;
}

struct Opened {
  File file;
  ResultFile facts;
};

absl::StatusOr<Opened> Open(const Place& place) {
  Opened opened;
  WAGGLE_ASSIGN_OR_RETURN(opened.file, File::OpenToRead(place.path));
  WAGGLE_ASSIGN_OR_RETURN(opened.facts.size, opened.file.Size());
  struct stat facts = {};
  if (fstat(opened.file.descriptor(), &facts) != 0) {
    return FileError(errno, place.path, "look at it");
  }
  opened.facts.name = place.name;
  opened.facts.identity = IdentityOf(facts, Grows(place.name));
  if (place.name == kMetrics) {
    WAGGLE_ASSIGN_OR_RETURN(opened.facts.size, WholeRows(opened.file, opened.facts.size));
  }
  return opened;
}

// The places of all files that may be there; `missing` takes the names of kinds without any.
std::vector<Place> Places(const ResultFolders& folders, std::vector<std::string>* missing) {
  std::vector<Place> places;
  for (const char* const name : kPlainFiles) {
    places.push_back({name, absl::StrCat(folders.output, "/", name)});
  }
  const std::vector<std::string> events = NamesIn(folders.output, kEventsPrefix);
  for (const std::string& name : events) {
    places.push_back({name, absl::StrCat(folders.output, "/", name)});
  }
  if (events.empty()) {
    missing->emplace_back(kEvents);
  }
  // The hub's weights are there with any learner, also one that does not see the output folder.
  std::vector<Place> weights = WeightsIn(absl::StrCat(folders.hub, "/", kBestModelFolder), kBest);
  if (weights.empty()) {
    weights = WeightsIn(absl::StrCat(folders.output, "/", kBest), kBest);
  }
  if (weights.empty()) {
    missing->emplace_back(kBest);
    weights = WeightsIn(absl::StrCat(folders.hub, "/", kNewestModelFolder), kNewest);
  }
  places.insert(places.end(), weights.begin(), weights.end());
  return places;
}

}  // namespace

ResultListing ListResults(const ResultFolders& folders) {
  ResultListing listing;
  for (const Place& place : Places(folders, &listing.missing)) {
    absl::StatusOr<Opened> opened = Open(place);
    if (opened.ok()) {
      listing.files.push_back(std::move(opened->facts));
    } else {
      listing.missing.push_back(place.name);
    }
  }
  return listing;
}

absl::StatusOr<File> OpenResult(const ResultFolders& folders, absl::string_view name, uint64_t identity, uint64_t end) {
  std::vector<std::string> missing;
  for (const Place& place : Places(folders, &missing)) {
    if (place.name != name) {
      continue;
    }
    WAGGLE_ASSIGN_OR_RETURN(Opened opened, Open(place));
    if (opened.facts.identity != identity || static_cast<uint64_t>(opened.facts.size) < end) {
      return absl::AbortedError(absl::StrCat(name, " has changed since it was listed"));
    }
    return std::move(opened.file);
  }
  return absl::NotFoundError(absl::StrCat("there is no file \"", absl::CHexEscape(name), "\" of this experiment"));
}

}  // namespace waggle
