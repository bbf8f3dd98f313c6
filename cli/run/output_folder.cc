#include "cli/run/output_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/atomic_file.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;

absl::Status ToStatus(const std::error_code& error, absl::string_view what) {
  return error ? absl::ErrnoToStatus(error.value(), what) : absl::OkStatus();
}

// Creates the folder itself. ALREADY_EXISTS if it exists and is not empty, or if it exists and `must_be_new` is true.
absl::Status Claim(const fs::path& path, bool must_be_new) {
  std::error_code error;
  if (path.has_parent_path()) {
    fs::create_directories(path.parent_path(), error);
    WAGGLE_RETURN_IF_ERROR(ToStatus(error, absl::StrCat("cannot create ", path.parent_path().string())));
  }
  const bool created = fs::create_directory(path, error);
  WAGGLE_RETURN_IF_ERROR(ToStatus(error, absl::StrCat("cannot create ", path.string())));
  if (created) {
    return absl::OkStatus();
  }
  if (must_be_new) {
    return absl::AlreadyExistsError(absl::StrCat(path.string(), " is there already"));
  }
  const bool is_empty = fs::is_empty(path, error);
  WAGGLE_RETURN_IF_ERROR(ToStatus(error, absl::StrCat("cannot read ", path.string())));
  return is_empty ? absl::OkStatus()
                  : absl::AlreadyExistsError(absl::StrCat(path.string(),
                                                          " is there already and is not empty; a run is "
                                                          "never overwritten"));
}

absl::StatusOr<fs::path> ClaimFreeName(const std::string& experiment_name, absl::Time now) {
  const std::string stem =
      absl::StrCat("runs/", experiment_name, "-", absl::FormatTime("%Y%m%d-%H%M%S", now, absl::UTCTimeZone()));
  for (int i = 1; i < 1000; ++i) {
    const fs::path path = i == 1 ? stem : absl::StrCat(stem, "-", i);
    // Another run that begins in the same second may have created it and not written anything yet.
    const absl::Status claimed = Claim(path, /*must_be_new=*/true);
    if (claimed.ok()) {
      return path;
    }
    if (!absl::IsAlreadyExists(claimed)) {
      return claimed;
    }
  }
  return absl::AlreadyExistsError(absl::StrCat("there are a thousand runs named ", stem));
}

}  // namespace

absl::StatusOr<OutputFolder> OutputFolder::Create(const std::string& requested, const std::string& experiment_name,
                                                  absl::Time now) {
  fs::path path = requested;
  if (requested.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(path, ClaimFreeName(experiment_name, now));
  } else {
    // The last part of "runs/x/" is empty.
    path = path.has_filename() ? path : path.parent_path();
    WAGGLE_RETURN_IF_ERROR(Claim(path, /*must_be_new=*/false));
  }
  OutputFolder folder(path.string());
  for (const char* part : {"logs", "hub"}) {
    std::error_code error;
    fs::create_directory(path / part, error);
    WAGGLE_RETURN_IF_ERROR(ToStatus(error, absl::StrCat("cannot create ", folder.File(part))));
  }
  return folder;
}

std::string OutputFolder::File(absl::string_view name) const {
  return absl::StrCat(path_, "/", name);
}

std::string OutputFolder::LogFile(absl::string_view process) const {
  return File(absl::StrCat("logs/", process, ".log"));
}

absl::Status OutputFolder::Write(absl::string_view name, absl::string_view contents) const {
  return WriteFileAtomically(File(name), contents);
}

std::vector<std::string> OutputFolder::LastLogLines(absl::string_view process, size_t count) const {
  constexpr std::streamoff kTail = 16384;  // Enough for a few lines, however large the log is.
  std::ifstream file(LogFile(process), std::ios::binary | std::ios::ate);
  if (!file) {
    return {};
  }
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTail));
  const std::string tail((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> lines = absl::StrSplit(tail, '\n', absl::SkipWhitespace());
  if (lines.size() > count) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  }
  return lines;
}

}  // namespace waggle
