#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// Files and folders. All calls block on the disk.
//
// Errors are "PATH: cannot WHAT: reason" with a code for the errno: NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED,
// RESOURCE_EXHAUSTED if the disk, a quota, files or memory have run out, DATA_LOSS for device errors, otherwise
// FAILED_PRECONDITION.
//
// Changes pass a failpoint first: file.create, file.write, file.sync, file.rename, file.remove, folder.create,
// folder.sync.
absl::Status FileError(int error_number, absl::string_view path, absl::string_view what);

// An open file, closed by the destructor. Not thread-safe.
class File {
 public:
  File() = default;
  ~File();
  File(File&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  // `flags` are open(2)'s. Child processes do not inherit the file.
  static absl::StatusOr<File> Open(std::string path, int flags);
  // Creates a file to write. ALREADY_EXISTS if the path is taken.
  static absl::StatusOr<File> Create(std::string path);
  // Opens a regular file to read. Symbolic links are not followed, and Size() refuses devices and folders.
  static absl::StatusOr<File> OpenToRead(std::string path);

  bool is_open() const { return descriptor_ >= 0; }
  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }

  // Bytes. DATA_LOSS if it is not a regular file.
  absl::StatusOr<int64_t> Size() const;

  // Reads the next `size` bytes; DATA_LOSS if the file is shorter.
  absl::Status Read(char* destination, int64_t size);
  // The `size` bytes at `offset`; fewer if the file is shorter.
  absl::StatusOr<std::string> ReadAt(int64_t offset, int64_t size) const;

  // Appends all of `bytes`, or fails after a part.
  absl::Status Append(absl::string_view bytes);
  absl::Status WriteAt(int64_t offset, absl::string_view bytes);
  absl::Status Truncate(int64_t size);
  // Returns once the bytes are on the device. After an error the file's content is unknown for ever.
  absl::Status Sync();

  // Locks the file until it is closed or the process ends. Does not wait: UNAVAILABLE if any process has locked it.
  absl::Status Lock();
  // True if the file has not been removed or replaced at its path, so that its lock excludes other processes.
  bool InPlace() const;

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
};

// Replaces a small file: readers see the old or the new text, even after a power cut. One writer at a time.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view text);

// The whole text, also of a pipe or device. RESOURCE_EXHAUSTED if it has more than `max_bytes`.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes);

// ALREADY_EXISTS if the path is taken; its parent must exist.
absl::Status CreateFolder(const std::string& path);
// Creates the folder, if missing, and its parents. Returns once their names are on the device.
absl::Status CreateFolders(const std::string& path);
// Creates the folder if it is missing, and locks file `name` in it. The error for a locked file is "FOLDER: taken".
absl::StatusOr<File> LockFolder(const std::string& folder, absl::string_view name, absl::string_view taken);
// Names in a folder, unordered.
absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path);
// Returns once the folder's entries are on the device.
absl::Status SyncFolder(const std::string& path);
// The folder that contains `path`.
std::string ParentFolder(const std::string& path);

// Atomic. `to` must not exist.
absl::Status Rename(const std::string& from, const std::string& to);
// Removes a file or a folder with its content. A missing one is no error.
absl::Status RemoveAll(const std::string& path);

}  // namespace waggle
