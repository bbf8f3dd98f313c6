#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/metrics/growing_file.h"

namespace waggle {

// Writes named numbers over time to a CSV file in long form: a row each, with the columns step, seconds, name and
// value. New names may come at any time; `pandas.read_csv(path).pivot_table(index="step", columns="name",
// values="value")` is the wide form. Not thread-safe.
class CsvWriter {
 public:
  // Opens the file, or creates it with its header. An existing file is continued after its last whole row: the part of
  // a row that a dead process left is cut off. Locks the file for as long as the writer or its process lives:
  // UNAVAILABLE if another process has it. FAILED_PRECONDITION if the file is another kind of file. A full disk is not
  // an error yet.
  static absl::StatusOr<std::unique_ptr<CsvWriter>> Create(const std::string& path);

  // The end of the file that is continued; zeros for a new one.
  struct Position {
    int64_t step = 0;
    double seconds = 0;
  };
  const Position& begins_after() const { return begins_after_; }

  // True if the file was removed under the writer: no reader will find its rows.
  bool IsRemoved() const { return file_->IsRemoved(); }

  // OK if the next Append takes its rows, written or kept; otherwise the error of writing the kept ones.
  absl::Status MakeRoom() { return file_->MakeRoom(); }

  // Writes a row for each value, which reads back as exactly the same number ("nan", "inf" and "-inf" for those).
  // `seconds` is the time since the run's start. The rows are with the operating system when this returns: they outlive
  // the process. After an error they are kept, and the next call writes them first; the file ends with a whole row.
  // Refuses rows if more than 16 MiB are kept already: see MakeRoom.
  absl::Status Append(int64_t step, double seconds, const std::map<std::string, double>& values);

 private:
  CsvWriter(std::unique_ptr<GrowingFile> file, const Position& begins_after)
      : file_(std::move(file)), begins_after_(begins_after) {}

  const std::unique_ptr<GrowingFile> file_;
  const Position begins_after_;
};

}  // namespace waggle
