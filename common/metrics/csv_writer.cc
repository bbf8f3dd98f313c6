#include "common/metrics/csv_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr absl::string_view kHeader = "step,seconds,name,value\n";

absl::Status ErrorOf(int error, absl::string_view action, absl::string_view path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", action, " ", path));
}

// A field as RFC 4180 wants it.
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

}  // namespace

absl::StatusOr<std::unique_ptr<CsvWriter>> CsvWriter::Create(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return ErrorOf(errno, "open", path);
  }
  std::unique_ptr<CsvWriter> writer(new CsvWriter(path, descriptor, 0));
  const off_t size = lseek(descriptor, 0, SEEK_END);
  if (size < 0) {
    return ErrorOf(errno, "seek in", path);
  }
  WAGGLE_ASSIGN_OR_RETURN(writer->size_, WholeRows(descriptor, size, path));
  if (writer->size_ < size && ftruncate(descriptor, writer->size_) != 0) {
    return ErrorOf(errno, "truncate", path);
  }
  if (writer->size_ == 0) {
    WAGGLE_RETURN_IF_ERROR(writer->Write(std::string(kHeader)));
  }
  return writer;
}

CsvWriter::~CsvWriter() {
  close(descriptor_);
}

absl::Status CsvWriter::Append(int64_t step, double seconds, const std::map<std::string, double>& values) {
  std::string rows;
  for (const auto& [name, value] : values) {
    // 17 digits tell all doubles apart.
    absl::StrAppendFormat(&rows, "%d,%.3f,%s,%.17g\n", step, seconds, Quoted(name), value);
  }
  return Write(rows);
}

absl::Status CsvWriter::Write(const std::string& bytes) {
  absl::string_view left = bytes;
  while (!left.empty()) {
    const int64_t offset = size_ + static_cast<int64_t>(bytes.size() - left.size());
    const ssize_t written = pwrite(descriptor_, left.data(), left.size(), offset);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      const absl::Status status = ErrorOf(errno, "write", path_);
      if (ftruncate(descriptor_, size_) != 0) {
        // Nothing better to do: the next Append() writes over the part of a row, or the next Create() cuts it off.
        return status;
      }
      return status;
    }
    left.remove_prefix(static_cast<size_t>(written));
  }
  size_ += static_cast<int64_t>(bytes.size());
  return absl::OkStatus();
}

}  // namespace waggle
