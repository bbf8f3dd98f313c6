#include "cli/run/output_folder.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/deadline.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"
#include "common/base/threads/stop_token.h"

namespace waggle {
namespace {

// Holds the folder's path: the hub writes to that, so that a folder that was moved cannot be used.
constexpr char kLock[] = "LOCK";
constexpr size_t kLongestPath = 1 << 16;
constexpr char kTaken[] = "a run still uses this folder";
// Processes of a killed `waggle run` are killed too, a moment after it.
constexpr absl::Duration kHubsEnd = absl::Seconds(10);
constexpr absl::Duration kLookPeriod = absl::Milliseconds(20);

std::string WithoutLastSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  return path;
}

// Waits until no hub writes figures here. UNAVAILABLE if one still does.
absl::Status AwaitHubsEnd(const std::string& figures) {
  const Deadline deadline(kHubsEnd);
  const StopToken pause;
  while (true) {
    absl::StatusOr<File> file = File::OpenToRead(figures);
    const absl::Status locked = file.ok() ? file->Lock() : absl::OkStatus();
    if (!absl::IsUnavailable(locked)) {
      return absl::OkStatus();
    }
    if (deadline.Left() <= absl::ZeroDuration()) {
      return absl::UnavailableError(absl::StrCat(ParentFolder(figures), ": ", kTaken));
    }
    pause.WaitFor(kLookPeriod);
  }
}

std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::weakly_canonical(path, error);
  return error ? path : absolute.string();
}

// Creates the folder itself. ALREADY_EXISTS if it exists and is not empty, or if it exists and `must_be_new`.
absl::Status Claim(const std::string& path, bool must_be_new) {
  WAGGLE_RETURN_IF_ERROR(CreateFolders(ParentFolder(path)));
  const absl::Status created = CreateFolder(path);
  if (!absl::IsAlreadyExists(created)) {
    return created;
  }
  if (must_be_new) {
    return absl::AlreadyExistsError(absl::StrCat(path, " is there already"));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(path));
  return names.empty() ? absl::OkStatus()
                       : absl::AlreadyExistsError(
                             absl::StrCat(path, " is there already and is not empty; a run is never overwritten"));
}

absl::StatusOr<std::string> ClaimFreeName(const std::string& experiment_name, absl::Time now) {
  const std::string stem =
      absl::StrCat("runs/", experiment_name, "-", absl::FormatTime("%Y%m%d-%H%M%S", now, absl::UTCTimeZone()));
  for (int i = 1; i < 1000; ++i) {
    const std::string path = i == 1 ? stem : absl::StrCat(stem, "-", i);
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
  std::string path = requested;
  if (requested.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(path, ClaimFreeName(experiment_name, now));
  } else {
    path = WithoutLastSlash(requested);
    WAGGLE_RETURN_IF_ERROR(Claim(path, /*must_be_new=*/false));
  }
  WAGGLE_ASSIGN_OR_RETURN(waggle::File lock, LockFolder(path, kLock, kTaken));
  WAGGLE_RETURN_IF_ERROR(lock.Append(Absolute(path)));
  OutputFolder folder(path, std::move(lock));
  for (const char* part : {"logs", "hub"}) {
    WAGGLE_RETURN_IF_ERROR(CreateFolders(folder.File(part)));
  }
  return folder;
}

absl::StatusOr<OutputFolder> OutputFolder::Take(const std::string& requested) {
  const std::string path = WithoutLastSlash(requested);
  for (const char* const file : {"/LOCK", "/experiment.yaml", "/hub/experiments.db"}) {
    if (const auto found = waggle::File::OpenToRead(path + file); !found.ok()) {
      return absl::NotFoundError(
          absl::StrCat(path, " is no folder of a run that has begun: ", found.status().message()));
    }
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::string made_in, ReadSmallFile(absl::StrCat(path, "/", kLock), kLongestPath));
  if (made_in != Absolute(path)) {
    return absl::FailedPreconditionError(absl::StrCat("--resume: got ", path, "; wanted ", made_in,
                                                      ", where the run was made, because it writes there"));
  }
  WAGGLE_ASSIGN_OR_RETURN(waggle::File lock, LockFolder(path, kLock, kTaken));
  OutputFolder folder(path, std::move(lock));
  WAGGLE_RETURN_IF_ERROR(AwaitHubsEnd(folder.File("metrics.csv")));
  WAGGLE_RETURN_IF_ERROR(CreateFolders(folder.File("logs")));
  WAGGLE_RETURN_IF_ERROR(RemoveAll(folder.File("hub/address")));  // It is that of the earlier hub.
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
  constexpr int64_t kTail = 16384;  // Enough for any few lines of ours, however large the log.
  const absl::StatusOr<waggle::File> file = waggle::File::OpenToRead(LogFile(process));
  const int64_t size = file.ok() ? file->Size().value_or(0) : 0;
  const std::string tail = size == 0 ? "" : file->ReadAt(std::max<int64_t>(0, size - kTail), kTail).value_or("");
  std::vector<std::string> lines = absl::StrSplit(tail, '\n', absl::SkipWhitespace());
  if (lines.size() > count) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  }
  return lines;
}

}  // namespace waggle
