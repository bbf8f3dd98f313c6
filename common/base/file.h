#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// Files and folders. Each call blocks for as long as the disk takes.
//
// Errors are "PATH: cannot WHAT: reason", with the code that fits the errno: NOT_FOUND, ALREADY_EXISTS,
// PERMISSION_DENIED, RESOURCE_EXHAUSTED for a full disk or quota and for too many files or too little memory, DATA_LOSS
// for an error of the device, FAILED_PRECONDITION for the rest.
//
// Changes pass a failpoint first: file.create, file.write, file.sync, file.rename, file.remove,
// folder.create, folder.sync.
absl::Status FileError(int error_number, absl::string_view path, absl::string_view what);

// An open file, closed with its object. Not thread-safe.
class File {
 public:
  // An object without a file.
  File() = default;
  ~File();
  File(File&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  // Takes the flags of open(2). Child processes do not inherit the file.
  static absl::StatusOr<File> Open(std::string path, int flags);
  // A new file, to write. ALREADY_EXISTS if the path is taken.
  static absl::StatusOr<File> Create(std::string path);
  // Opens a regular file to read. A symbolic link is not followed, and Size() refuses devices and folders.
  static absl::StatusOr<File> OpenToRead(std::string path);

  bool is_open() const { return descriptor_ >= 0; }
  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }

  // Bytes. DATA_LOSS if the file is not a regular one.
  absl::StatusOr<int64_t> Size() const;

  // Reads the next `size` bytes into `destination`; DATA_LOSS if the file ends before.
  absl::Status Read(char* destination, int64_t size);
  // The `size` bytes at `offset`; fewer if the file ends before.
  absl::StatusOr<std::string> ReadAt(int64_t offset, int64_t size) const;

  // Writes all of `bytes` behind the last ones, or fails after a part.
  absl::Status Append(absl::string_view bytes);
  absl::Status WriteAt(int64_t offset, absl::string_view bytes);
  absl::Status Truncate(int64_t size);
  // Returns once the bytes are on the device. After an error the file's contents are unknown and stay so.
  absl::Status Sync();

  // Locks the file until it is closed or the process ends in any way. Does not wait: UNAVAILABLE if another lock
  // is held, by this process or another.
  absl::Status Lock();
  // True if the file is still the one at its path, so that its lock keeps other processes out. It may have been removed
  // or replaced.
  bool InPlace() const;

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
};

// Replaces a small file as a whole: readers see the old or the new text, also after a power cut. One writer at a time.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view text);

// The whole text, of a pipe or a device too. RESOURCE_EXHAUSTED if it has more than `max_bytes`.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes);

// ALREADY_EXISTS if the path is taken; its parent must exist.
absl::Status CreateFolder(const std::string& path);
// Makes the folder and its missing parents; returns once their names are on the device. One that exists is no error.
absl::Status CreateFolders(const std::string& path);
// Makes the folder if it is missing, and locks the file `name` in it: see File::Lock. The error for a locked file is
// "FOLDER: taken".
absl::StatusOr<File> LockFolder(const std::string& folder, absl::string_view name, absl::string_view taken);
// The names in a folder, in no particular order.
absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path);
// Returns once the folder's entries are on the device.
absl::Status SyncFolder(const std::string& path);
// The folder that has the name of `path`.
std::string ParentFolder(const std::string& path);

// Atomic. `to` must not exist.
absl::Status Rename(const std::string& from, const std::string& to);
// Removes a file or a folder with all it holds; a missing one is no error.
absl::Status RemoveAll(const std::string& path);

}  // namespace waggle
