#include "common/base/metrics/csv_writer.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr absl::string_view kHeader = "step,seconds,name,value\n";

// A field in the form of RFC 4180.
std::string Quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) {
    return field;
  }
  return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
}

// The size in bytes of the header and the rows that end with a line break; 0 for an empty file.
absl::StatusOr<int64_t> WholeRows(const File& file, int64_t size) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string start, file.ReadAt(0, kHeader.size()));
  if (start != kHeader) {
    if (start == kHeader.substr(0, static_cast<size_t>(size))) {
      return 0;  // Empty, or cut off within the header.
    }
    return absl::FailedPreconditionError(absl::StrCat(file.path(), " is not a metrics file: it does not start with ",
                                                      kHeader.substr(0, kHeader.size() - 1)));
  }
  constexpr int64_t kBlock = 4096;
  for (int64_t end = size; end > 0;) {
    const int64_t begin = std::max<int64_t>(0, end - kBlock);
    WAGGLE_ASSIGN_OR_RETURN(const std::string block, file.ReadAt(begin, end - begin));
    if (const size_t at = block.rfind('\n'); at != std::string::npos) {
      return begin + static_cast<int64_t>(at) + 1;
    }
    end = begin;
  }
  return static_cast<int64_t>(kHeader.size());
}

// The position of the last whole row; zeros if there is none.
absl::StatusOr<CsvWriter::Position> LastRow(const File& file, int64_t size) {
  constexpr int64_t kLongestRow = 4096;
  const int64_t begin = std::max(static_cast<int64_t>(kHeader.size()), size - kLongestRow);
  WAGGLE_ASSIGN_OR_RETURN(const std::string rows, file.ReadAt(begin, std::max<int64_t>(0, size - begin)));
  const size_t end = rows.size() < 2 ? std::string::npos : rows.rfind('\n', rows.size() - 2);
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(rows).substr(end == std::string::npos ? 0 : end + 1), ',');
  CsvWriter::Position position;
  const bool is_row = fields.size() >= 4 && absl::SimpleAtoi(fields[0], &position.step) &&
                      absl::SimpleAtod(fields[1], &position.seconds);
  return is_row ? position : CsvWriter::Position();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CsvWriter>> CsvWriter::Create(const std::string& path) {
  WAGGLE_ASSIGN_OR_RETURN(File file, File::Open(path, O_RDWR | O_CREAT));
  const absl::Status locked = file.Lock();
  if (absl::IsUnavailable(locked)) {
    return absl::UnavailableError(absl::StrCat("another process writes ", path, "; give each one a folder of its own"));
  }
  WAGGLE_RETURN_IF_ERROR(locked);
  WAGGLE_ASSIGN_OR_RETURN(const int64_t size, file.Size());
  WAGGLE_ASSIGN_OR_RETURN(const int64_t whole, WholeRows(file, size));
  if (whole < size) {
    WAGGLE_RETURN_IF_ERROR(file.Truncate(whole));
  }
  WAGGLE_ASSIGN_OR_RETURN(const Position last, LastRow(file, whole));
  auto growing = std::make_unique<GrowingFile>(std::move(file), whole);
  if (whole == 0) {
    WAGGLE_RETURN_IF_ERROR(growing->Add(kHeader));
    // An error here comes again with the first rows, and is reported then.
    growing->Flush().IgnoreError();
  }
  return std::unique_ptr<CsvWriter>(new CsvWriter(std::move(growing), last));
}

absl::Status CsvWriter::Append(int64_t step, double seconds, const std::map<std::string, double>& values) {
  std::string rows;
  for (const auto& [name, value] : values) {
    // 17 digits tell all doubles apart.
    absl::StrAppendFormat(&rows, "%d,%.3f,%s,%.17g\n", step, seconds, Quoted(name), value);
  }
  WAGGLE_RETURN_IF_ERROR(file_->Add(rows));
  return file_->Flush();
}

}  // namespace waggle
