#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace waggle {

// Writes named numbers over time to a CSV file in long form: a row each, with the columns step, seconds, name and
// value. New names may come at any time; `pandas.read_csv(path).pivot_table(index="step", columns="name",
// values="value")` is the wide form. Not thread-safe.
class CsvWriter {
 public:
  // Opens the file, or creates it with its header. A file that has one is continued, after its last whole row: what a
  // process that died while it wrote left of a row is cut off. FAILED_PRECONDITION if the file is another kind of file.
  static absl::StatusOr<std::unique_ptr<CsvWriter>> Create(const std::string& path);

  CsvWriter(const CsvWriter&) = delete;
  CsvWriter& operator=(const CsvWriter&) = delete;
  ~CsvWriter();

  // Writes a row for each value, which reads back as exactly the same number ("nan", "inf" and "-inf" for those).
  // `seconds` is the time since the run's start. The rows are with the operating system when this returns: they outlive
  // the process. After an error the file ends with its last whole row, where the device still allows that.
  absl::Status Append(int64_t step, double seconds, const std::map<std::string, double>& values);

 private:
  CsvWriter(std::string path, int descriptor, int64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

  absl::Status Write(const std::string& bytes);

  const std::string path_;
  const int descriptor_;
  int64_t size_;  // Of the file's whole rows, in bytes.
};

}  // namespace waggle
