#include "common/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/failpoint.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;

absl::StatusCode CodeOf(int error_number) {
  switch (error_number) {
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
    case EFBIG:
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

// Repeats an interrupted call.
template <class Call>
auto Retry(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

// Moves `size` bytes by calls of move(DONE, MOST). Returns fewer at the file's end, a negative number after an error.
template <class Move>
int64_t MoveAll(int64_t size, const Move& move) {
  // A call moves at most 2 GiB less a page. A lower bound keeps calls interruptible.
  constexpr int64_t kMost = int64_t{1} << 26;
  int64_t done = 0;
  while (done < size) {
    const ssize_t moved = Retry([&] { return move(done, static_cast<size_t>(std::min(size - done, kMost))); });
    if (moved <= 0) {
      return moved < 0 ? moved : done;
    }
    done += moved;
  }
  return done;
}

// `written` is MoveAll's result for `size` bytes. A device that takes no bytes is full.
absl::Status AllWritten(int64_t written, size_t size, absl::string_view path) {
  return written == static_cast<int64_t>(size) ? absl::OkStatus()
                                               : FileError(written < 0 ? errno : ENOSPC, path, "write");
}

absl::Status SyncDescriptor(int descriptor, absl::string_view path) {
  return Retry([&] { return fsync(descriptor); }) == 0 ? absl::OkStatus() : FileError(errno, path, "sync");
}

}  // namespace

absl::Status FileError(int error_number, absl::string_view path, absl::string_view what) {
  return absl::Status(CodeOf(error_number),
                      absl::StrCat(path, ": cannot ", what, ": ", std::generic_category().message(error_number)));
}

File::~File() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

absl::StatusOr<File> File::Open(std::string path, int flags) {
  if ((flags & O_CREAT) != 0) {
    WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("file.create"));
  }
  const int descriptor = Retry([&] { return open(path.c_str(), flags | O_CLOEXEC, 0644); });
  if (descriptor < 0) {
    return FileError(errno, path, "open");
  }
  return File(std::move(path), descriptor);
}

absl::StatusOr<File> File::Create(std::string path) {
  return Open(std::move(path), O_WRONLY | O_CREAT | O_EXCL);
}

absl::StatusOr<File> File::OpenToRead(std::string path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  return Open(std::move(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

absl::StatusOr<int64_t> File::Size() const {
  struct stat facts;
  if (fstat(descriptor_, &facts) != 0) {
    return FileError(errno, path_, "examine");
  }
  if (!S_ISREG(facts.st_mode)) {
    return absl::DataLossError(absl::StrCat(path_, ": is not a regular file"));
  }
  return static_cast<int64_t>(facts.st_size);
}

absl::Status File::Read(char* destination, int64_t size) {
  const int64_t got =
      MoveAll(size, [&](int64_t done, size_t most) { return read(descriptor_, destination + done, most); });
  if (got < 0) {
    return FileError(errno, path_, "read");
  }
  return got == size ? absl::OkStatus()
                     : absl::DataLossError(absl::StrCat(path_, ": ends ", size - got, " bytes too early"));
}

absl::StatusOr<std::string> File::ReadAt(int64_t offset, int64_t size) const {
  std::string bytes(static_cast<size_t>(size), '\0');
  const int64_t got = MoveAll(
      size, [&](int64_t done, size_t most) { return pread(descriptor_, bytes.data() + done, most, offset + done); });
  if (got < 0) {
    return FileError(errno, path_, "read");
  }
  bytes.resize(static_cast<size_t>(got));
  return bytes;
}

absl::Status File::Append(absl::string_view bytes) {
  WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("file.write"));
  const int64_t written = MoveAll(static_cast<int64_t>(bytes.size()), [&](int64_t done, size_t most) {
    return write(descriptor_, bytes.data() + done, most);
  });
  return AllWritten(written, bytes.size(), path_);
}

absl::Status File::WriteAt(int64_t offset, absl::string_view bytes) {
  WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("file.write"));
  const int64_t written = MoveAll(static_cast<int64_t>(bytes.size()), [&](int64_t done, size_t most) {
    return pwrite(descriptor_, bytes.data() + done, most, offset + done);
  });
  return AllWritten(written, bytes.size(), path_);
}

absl::Status File::Truncate(int64_t size) {
  return Retry([&] { return ftruncate(descriptor_, size); }) == 0 ? absl::OkStatus()
                                                                  : FileError(errno, path_, "truncate");
}

absl::Status File::Sync() {
  WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("file.sync"));
  return SyncDescriptor(descriptor_, path_);
}

absl::Status File::Lock() {
  // The lock ends with the file's last descriptor, and so with the process.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {
    return absl::OkStatus();
  }
  return errno == EWOULDBLOCK ? absl::UnavailableError(absl::StrCat(path_, ": another process has locked it"))
                              : FileError(errno, path_, "lock");
}

bool File::InPlace() const {
  struct stat opened;
  struct stat found;
  return fstat(descriptor_, &opened) == 0 && lstat(path_.c_str(), &found) == 0 && opened.st_dev == found.st_dev &&
         opened.st_ino == found.st_ino;
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view text) {
  const std::string temporary = absl::StrCat(path, ".new");
  const absl::Status status = [&]() -> absl::Status {
    WAGGLE_ASSIGN_OR_RETURN(File file, File::Open(temporary, O_WRONLY | O_CREAT | O_TRUNC));
    WAGGLE_RETURN_IF_ERROR(file.Append(text));
    WAGGLE_RETURN_IF_ERROR(file.Sync());
    WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("file.rename"));
    return rename(temporary.c_str(), path.c_str()) == 0 ? absl::OkStatus() : FileError(errno, path, "replace");
  }();
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  // Otherwise a power cut could bring the old file back.
  return SyncFolder(ParentFolder(path));
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes) {
  WAGGLE_ASSIGN_OR_RETURN(const File file, File::Open(path, O_RDONLY));
  std::string text;
  char buffer[1 << 14];
  while (text.size() <= max_bytes) {
    const ssize_t got = Retry([&] { return read(file.descriptor(), buffer, sizeof(buffer)); });
    if (got < 0) {
      return FileError(errno, path, "read");
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer, static_cast<size_t>(got));
  }
  return absl::ResourceExhaustedError(absl::StrCat(path, ": has more than ", max_bytes, " bytes"));
}

absl::Status CreateFolder(const std::string& path) {
  WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("folder.create"));
  return mkdir(path.c_str(), 0755) == 0 ? absl::OkStatus() : FileError(errno, path, "create the folder");
}

absl::Status CreateFolders(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return absl::OkStatus();
  }
  const std::string parent = ParentFolder(path);
  if (parent != path) {
    WAGGLE_RETURN_IF_ERROR(CreateFolders(parent));
  }
  const absl::Status status = CreateFolder(path);
  if (absl::IsAlreadyExists(status)) {
    // Another process may have created it.
    return fs::is_directory(path, ignored) ? absl::OkStatus() : FileError(ENOTDIR, path, "create the folder");
  }
  WAGGLE_RETURN_IF_ERROR(status);
  return SyncFolder(parent);
}

absl::StatusOr<File> LockFolder(const std::string& folder, absl::string_view name, absl::string_view taken) {
  WAGGLE_RETURN_IF_ERROR(CreateFolders(folder));
  WAGGLE_ASSIGN_OR_RETURN(File file, File::Open(absl::StrCat(folder, "/", name), O_RDWR | O_CREAT | O_NOFOLLOW));
  const absl::Status status = file.Lock();
  if (absl::IsUnavailable(status)) {
    return absl::UnavailableError(absl::StrCat(folder, ": ", taken));
  }
  WAGGLE_RETURN_IF_ERROR(status);
  return file;
}

absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    return FileError(error.value(), path, "list");
  }
  return names;
}

absl::Status SyncFolder(const std::string& path) {
  WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("folder.sync"));
  WAGGLE_ASSIGN_OR_RETURN(const File folder, File::Open(path, O_RDONLY | O_DIRECTORY));
  return SyncDescriptor(folder.descriptor(), path);
}

std::string ParentFolder(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

absl::Status Rename(const std::string& from, const std::string& to) {
  WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("file.rename"));
  int result = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
    result = rename(from.c_str(), to.c_str());  // The file system has no atomic variant.
  }
  return result == 0 ? absl::OkStatus() : FileError(errno, from, absl::StrCat("be renamed to ", to));
}

absl::Status RemoveAll(const std::string& path) {
  WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("file.remove"));
  std::error_code error;
  fs::remove_all(path, error);
  return error ? FileError(error.value(), path, "remove") : absl::OkStatus();
}

}  // namespace waggle
