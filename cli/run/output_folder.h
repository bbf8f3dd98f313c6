#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace waggle {

// The folder that a run leaves behind: experiment.yaml (every value in it), logs/, hub/, checkpoints/, replay/ where
// tables outlive their server, metrics.csv, TensorBoard event files, summary.json.
class OutputFolder {
 public:
  // Creates `requested`, or runs/NAME-YYYYMMDD-HHMMSS (UTC) where that is empty, and what belongs into it. A folder
  // that holds a run already is left as it is: ALREADY_EXISTS for a requested one; without a request another name is
  // taken. Any other error says what could not be written.
  static absl::StatusOr<OutputFolder> Create(const std::string& requested, const std::string& experiment_name,
                                             absl::Time now);

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const;
  // "logs/learner.log", "logs/actor-2.log".
  std::string LogFile(absl::string_view process) const;

  // Writes a file in whole: readers see the old contents or the new, never a part.
  absl::Status Write(absl::string_view name, absl::string_view contents) const;

  // The last lines of a process's log, at most `count`; empty if there is none.
  std::vector<std::string> LastLogLines(absl::string_view process, size_t count) const;

 private:
  explicit OutputFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace waggle
