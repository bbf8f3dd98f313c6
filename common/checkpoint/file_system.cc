#include "common/checkpoint/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
      return absl::StatusCode::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EIO:
      return absl::StatusCode::kDataLoss;
    default:
      return absl::StatusCode::kFailedPrecondition;
  }
}

absl::Status ErrorOf(int error, absl::string_view action, absl::string_view path) {
  return absl::Status(CodeOf(error),
                      absl::StrCat("cannot ", action, " ", path, ": ", std::generic_category().message(error)));
}

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

int OpenRetrying(const std::string& path, int flags, mode_t mode = 0) {
  int number;
  do {
    number = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (number < 0 && errno == EINTR);
  return number;
}

absl::Status SyncDescriptor(int number, absl::string_view path) {
  int result;
  do {
    result = fsync(number);
  } while (result < 0 && errno == EINTR);
  return result == 0 ? absl::OkStatus() : ErrorOf(errno, "sync", path);
}

// The folder that names `path`.
std::string ParentOf(absl::string_view path) {
  while (path.size() > 1 && absl::ConsumeSuffix(&path, "/")) {
  }
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) {
    return ".";
  }
  return std::string(path.substr(0, std::max<size_t>(slash, 1)));
}

// One call moves at most 2 GiB less a page; a smaller bound keeps each one interruptible.
constexpr int64_t kMaxTransfer = int64_t{1} << 26;

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(std::string path, int number) : path_(std::move(path)), descriptor_(number) {}

  absl::Status Append(absl::string_view bytes) override {
    while (!bytes.empty()) {
      const size_t wanted = std::min(bytes.size(), static_cast<size_t>(kMaxTransfer));
      const ssize_t written = write(descriptor_.number(), bytes.data(), wanted);
      if (written < 0) {
        if (errno == EINTR) {
          continue;
        }
        return ErrorOf(errno, "write", path_);
      }
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override { return SyncDescriptor(descriptor_.number(), path_); }

  absl::Status Close() override {
    // Linux frees the descriptor even where close() is interrupted: a second close could hit another thread's file.
    if (close(descriptor_.Release()) != 0 && errno != EINTR) {
      return ErrorOf(errno, "close", path_);
    }
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  Descriptor descriptor_;
};

class PosixReadableFile : public ReadableFile {
 public:
  PosixReadableFile(std::string path, int number) : path_(std::move(path)), descriptor_(number) {}

  absl::StatusOr<int64_t> Size() const override {
    struct stat facts;
    if (fstat(descriptor_.number(), &facts) != 0) {
      return ErrorOf(errno, "examine", path_);
    }
    if (!S_ISREG(facts.st_mode)) {
      return absl::DataLossError(absl::StrCat(path_, " is not a regular file"));
    }
    return static_cast<int64_t>(facts.st_size);
  }

  absl::Status Read(char* destination, int64_t size) override {
    while (size > 0) {
      const ssize_t got = read(descriptor_.number(), destination, static_cast<size_t>(std::min(size, kMaxTransfer)));
      if (got < 0) {
        if (errno == EINTR) {
          continue;
        }
        return ErrorOf(errno, "read", path_);
      }
      if (got == 0) {
        return absl::DataLossError(absl::StrCat(path_, " ends ", size, " bytes too early"));
      }
      destination += got;
      size -= got;
    }
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  Descriptor descriptor_;
};

// flock() locks go with the last descriptor of the opened file, and so with the process.
class PosixFileLock : public FileLock {
 public:
  PosixFileLock(std::string path, int number) : path_(std::move(path)), descriptor_(number) {}

  int number() const { return descriptor_.number(); }

  bool InPlace() const override {
    struct stat locked;
    struct stat found;
    return fstat(descriptor_.number(), &locked) == 0 && lstat(path_.c_str(), &found) == 0 &&
           locked.st_dev == found.st_dev && locked.st_ino == found.st_ino;
  }

 private:
  const std::string path_;
  const Descriptor descriptor_;
};

class PosixFileSystemImpl : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateFile(const std::string& path) override {
    const int number = OpenRetrying(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (number < 0) {
      return ErrorOf(errno, "create", path);
    }
    return std::make_unique<PosixWritableFile>(path, number);
  }

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenFile(const std::string& path) override {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    const int number = OpenRetrying(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (number < 0) {
      return ErrorOf(errno, "open", path);
    }
    return std::make_unique<PosixReadableFile>(path, number);
  }

  absl::StatusOr<std::unique_ptr<FileLock>> LockFile(const std::string& path) override {
    auto lock = std::make_unique<PosixFileLock>(path, OpenRetrying(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0644));
    if (lock->number() < 0) {
      return ErrorOf(errno, "create", path);
    }
    if (flock(lock->number(), LOCK_EX | LOCK_NB) != 0) {
      return errno == EWOULDBLOCK ? absl::UnavailableError(absl::StrCat(path, " is locked by another process"))
                                  : ErrorOf(errno, "lock", path);
    }
    return lock;
  }

  absl::Status CreateFolder(const std::string& path) override {
    return mkdir(path.c_str(), 0755) == 0 ? absl::OkStatus() : ErrorOf(errno, "create folder", path);
  }

  absl::Status CreateFolders(const std::string& path) override {
    const std::string parent = ParentOf(path);
    absl::Status status = CreateFolder(path);
    if (absl::IsNotFound(status) && parent != path) {
      WAGGLE_RETURN_IF_ERROR(CreateFolders(parent));
      status = CreateFolder(path);
    }
    if (absl::IsAlreadyExists(status)) {
      struct stat facts;
      const bool is_folder = stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
      return is_folder ? absl::OkStatus() : ErrorOf(ENOTDIR, "create folder", path);
    }
    WAGGLE_RETURN_IF_ERROR(status);
    return SyncFolder(parent);
  }

  absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path) override {
    DIR* const folder = opendir(path.c_str());
    if (folder == nullptr) {
      return ErrorOf(errno, "list", path);
    }
    std::vector<std::string> names;
    int error = 0;
    while (true) {
      errno = 0;
      const dirent* const entry = readdir(folder);
      if (entry == nullptr) {
        error = errno;
        break;
      }
      const absl::string_view name(entry->d_name);
      if (name != "." && name != "..") {
        names.emplace_back(name);
      }
    }
    closedir(folder);
    if (error != 0) {
      return ErrorOf(error, "list", path);
    }
    return names;
  }

  absl::Status SyncFolder(const std::string& path) override {
    const Descriptor folder(OpenRetrying(path, O_RDONLY | O_DIRECTORY));
    return folder.number() < 0 ? ErrorOf(errno, "open folder", path) : SyncDescriptor(folder.number(), path);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    int result = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
    if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
      result = rename(from.c_str(), to.c_str());  // A file system that cannot look and rename at once.
    }
    return result == 0 ? absl::OkStatus() : ErrorOf(errno, absl::StrCat("rename ", from, " to"), to);
  }

  absl::Status RemoveAll(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    return error ? ErrorOf(error.value(), "remove", path) : absl::OkStatus();
  }
};

}  // namespace

FileSystem* PosixFileSystem() {
  static PosixFileSystemImpl* const file_system = new PosixFileSystemImpl();
  return file_system;
}

}  // namespace waggle
