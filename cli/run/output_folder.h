#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/file.h"

namespace waggle {

// A run's folder: experiment.yaml (all its values), logs/, hub/, checkpoints/, replay/ if tables outlive their server,
// metrics.csv, TensorBoard event files, summary.json. Locked while it exists, so that one `waggle run` uses it.
class OutputFolder {
 public:
  // Creates the folder, with logs/ and hub/ in it. Its path is `requested`, or runs/NAME-YYYYMMDD-HHMMSS (UTC) if that
  // is empty; "-2" and so on is added if that name is taken. ALREADY_EXISTS if `requested` exists and is not empty. Any
  // other error names the path that could not be written.
  static absl::StatusOr<OutputFolder> Create(const std::string& requested, const std::string& experiment_name,
                                             absl::Time now);

  // Takes the folder of an earlier run. NOT_FOUND, naming the missing file, if it is not one; FAILED_PRECONDITION if it
  // was moved; UNAVAILABLE if a run still uses it.
  static absl::StatusOr<OutputFolder> Take(const std::string& path);

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const;
  // "logs/learner.log", "logs/actor-2.log".
  std::string LogFile(absl::string_view process) const;

  // Writes a whole file: readers see the old contents or the new ones, never a part.
  absl::Status Write(absl::string_view name, absl::string_view contents) const;

  // The last lines of a process's log, at most `count`; empty if there is no log.
  std::vector<std::string> LastLogLines(absl::string_view process, size_t count) const;

 private:
  OutputFolder(std::string path, waggle::File lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  waggle::File lock_;
};

}  // namespace waggle
