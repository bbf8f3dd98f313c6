#include "common/base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

class FileDescriptor {
 public:
  FileDescriptor(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::Status WriteAll(int fd, const std::string& path, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return FileError(errno, path, "write");
    }
    text.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
  }
  if (fsync(fd) != 0) {
    return FileError(errno, path, "sync");
  }
  return absl::OkStatus();
}

absl::Status WriteNewFile(const std::string& path, absl::string_view text) {
  const FileDescriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (file.get() < 0) {
    return FileError(errno, path, "write");
  }
  return WriteAll(file.get(), path, text);
}

}  // namespace

absl::Status FileError(int error_number, absl::string_view path, absl::string_view what) {
  absl::StatusCode code = absl::StatusCode::kFailedPrecondition;
  switch (error_number) {
    case ENOENT:
      code = absl::StatusCode::kNotFound;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = absl::StatusCode::kPermissionDenied;
      break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      code = absl::StatusCode::kResourceExhausted;
      break;
    default:
      break;
  }
  return absl::Status(code, absl::StrCat(path, ": cannot ", what, ": ", strerror(error_number)));
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view text) {
  const std::string temporary = absl::StrCat(path, ".new");
  if (absl::Status status = WriteNewFile(temporary, text); !status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return FileError(errno, path, "replace");
  }
  // The name must be on the disk too: without this a power cut could bring the old file back.
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const FileDescriptor directory(folder, O_RDONLY | O_DIRECTORY);
  if (directory.get() < 0 || fsync(directory.get()) != 0) {
    return FileError(errno, folder, "sync");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes) {
  const FileDescriptor file(path, O_RDONLY);
  if (file.get() < 0) {
    return FileError(errno, path, "read");
  }
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t got = read(file.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return FileError(errno, path, "read");
    }
    if (got == 0) {
      return text;
    }
    if (text.size() + static_cast<size_t>(got) > max_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(path, ": has more than ", max_bytes, " bytes"));
    }
    text.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace waggle
