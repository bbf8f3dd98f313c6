#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/metrics/growing_file.h"

namespace waggle {

// Writes named numbers over time to a CSV file in long form: a row each, with the columns step, seconds, name and
// value. New names may come at any time; `pandas.read_csv(path).pivot_table(index="step", columns="name",
// values="value")` is the wide form. Not thread-safe.
class CsvWriter {
 public:
  // Opens the file, or creates it with its header. A file that has one is continued, after its last whole row: what a
  // process that died while it wrote left of a row is cut off. Locks it for as long as the writer or its process lives:
  // UNAVAILABLE if another one has it. FAILED_PRECONDITION if the file is another kind of file.
  // A disk that is full is no error yet.
  static absl::StatusOr<std::unique_ptr<CsvWriter>> Create(const std::string& path);

  // Where the file that is continued ends; zeros for a new one.
  struct Position {
    int64_t step = 0;
    double seconds = 0;
  };
  const Position& begins_after() const { return begins_after_; }

  // Whether the file was removed under the writer: what is written is then nowhere to be read.
  bool IsRemoved() const { return file_->IsRemoved(); }

  // OK where the next Append takes its rows, be they written or kept; else the error of writing what is kept.
  absl::Status MakeRoom() { return file_->MakeRoom(); }

  // Writes a row for each value, which reads back as exactly the same number ("nan", "inf" and "-inf" for those).
  // `seconds` is the time since the run's start. The rows are with the operating system when this returns: they outlive
  // the process. After an error they are kept, and the next call writes them first; the file ends with a whole row.
  // Where more than 16 MiB are kept already they are not taken: see MakeRoom.
  absl::Status Append(int64_t step, double seconds, const std::map<std::string, double>& values);

 private:
  CsvWriter(std::unique_ptr<GrowingFile> file, const Position& begins_after)
      : file_(std::move(file)), begins_after_(begins_after) {}

  const std::unique_ptr<GrowingFile> file_;
  const Position begins_after_;
};

}  // namespace waggle
