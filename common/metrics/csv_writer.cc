#include "common/metrics/csv_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr absl::string_view kHeader = "step,seconds,name,value\n";

absl::Status ErrorOf(int error, absl::string_view action, absl::string_view path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", action, " ", path));
}

// A field in the form of RFC 4180.
std::string Quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) {
    return field;
  }
  return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
}

absl::StatusOr<std::string> ReadAt(int descriptor, int64_t offset, int64_t size, const std::string& path) {
  std::string bytes(static_cast<size_t>(size), '\0');
  const ssize_t got = pread(descriptor, bytes.data(), bytes.size(), offset);
  if (got < 0) {
    return ErrorOf(errno, "read", path);
  }
  bytes.resize(static_cast<size_t>(got));
  return bytes;
}

// A descriptor that holds the file's lock. The kernel releases the lock with the last descriptor of the opened file,
// and so at any end of the process.
absl::StatusOr<int> OpenLocked(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return ErrorOf(errno, "open", path);
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    return descriptor;
  }
  const absl::Status status =
      errno == EWOULDBLOCK
          ? absl::UnavailableError(absl::StrCat("another process writes ", path, "; give each one a folder of its own"))
          : ErrorOf(errno, "lock", path);
  close(descriptor);
  return status;
}

// The size in bytes of the header and the rows that end with a line break; 0 for an empty file.
absl::StatusOr<int64_t> WholeRows(int descriptor, int64_t size, const std::string& path) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string start, ReadAt(descriptor, 0, kHeader.size(), path));
  if (start != kHeader) {
    if (start == kHeader.substr(0, static_cast<size_t>(size))) {
      return 0;  // Empty, or cut off within the header.
    }
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a metrics file: it does not start with ", kHeader.substr(0, kHeader.size() - 1)));
  }
  constexpr int64_t kBlock = 4096;
  for (int64_t end = size; end > 0;) {
    const int64_t begin = std::max<int64_t>(0, end - kBlock);
    WAGGLE_ASSIGN_OR_RETURN(const std::string block, ReadAt(descriptor, begin, end - begin, path));
    if (const size_t at = block.rfind('\n'); at != std::string::npos) {
      return begin + static_cast<int64_t>(at) + 1;
    }
    end = begin;
  }
  return static_cast<int64_t>(kHeader.size());
}

// The position of the last whole row; zeros if there is none.
absl::StatusOr<CsvWriter::Position> LastRow(int descriptor, int64_t size, const std::string& path) {
  constexpr int64_t kLongestRow = 4096;
  const int64_t begin = std::max(static_cast<int64_t>(kHeader.size()), size - kLongestRow);
  WAGGLE_ASSIGN_OR_RETURN(const std::string rows, ReadAt(descriptor, begin, std::max<int64_t>(0, size - begin), path));
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
  WAGGLE_ASSIGN_OR_RETURN(const int descriptor, OpenLocked(path));
  const off_t size = lseek(descriptor, 0, SEEK_END);
  const absl::StatusOr<int64_t> whole = size < 0 ? ErrorOf(errno, "seek in", path) : WholeRows(descriptor, size, path);
  auto file = std::make_unique<GrowingFile>(path, descriptor, whole.value_or(0));
  WAGGLE_RETURN_IF_ERROR(whole.status());
  if (*whole < size && ftruncate(descriptor, *whole) != 0) {
    return ErrorOf(errno, "truncate", path);
  }
  WAGGLE_ASSIGN_OR_RETURN(const Position last, LastRow(descriptor, *whole, path));
  if (*whole == 0) {
    WAGGLE_RETURN_IF_ERROR(file->Add(kHeader));
    // An error here comes again with the first rows, and is reported then.
    file->Flush().IgnoreError();
  }
  return std::unique_ptr<CsvWriter>(new CsvWriter(std::move(file), last));
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
