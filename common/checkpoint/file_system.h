#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// A file being written, from its start. Not thread-safe.
class WritableFile {
 public:
  // Closes without reporting errors: a file whose bytes matter is closed by Close().
  virtual ~WritableFile() = default;

  // Writes all of `bytes` or fails.
  virtual absl::Status Append(absl::string_view bytes) = 0;
  // Returns once the bytes are on the device. After an error the file's contents are unknown and stay so.
  virtual absl::Status Sync() = 0;
  virtual absl::Status Close() = 0;
};

// A file being read. Not thread-safe.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  // Bytes.
  virtual absl::StatusOr<int64_t> Size() const = 0;
  // Reads the next `size` bytes into `destination`; DATA_LOSS if the file ends before.
  virtual absl::Status Read(char* destination, int64_t size) = 0;
};

// A lock that is held until it is destroyed or the process ends, whatever ends it.
class FileLock {
 public:
  virtual ~FileLock() = default;

  // Whether the file is still the one at its path, so that it keeps others out: it may have been removed or replaced.
  virtual bool InPlace() const = 0;
};

// What the checkpoint store needs of a file system, so that tests can make any of it fail. Thread-safe. Blocks.
//
// Errors name the path and carry the code of the errno: NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED,
// RESOURCE_EXHAUSTED for a full device or quota, DATA_LOSS for a device error, FAILED_PRECONDITION for the rest.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // ALREADY_EXISTS if the path is taken.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> CreateFile(const std::string& path) = 0;
  // Does not follow a symbolic link.
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> OpenFile(const std::string& path) = 0;

  // Makes the file where it is missing, and locks it. Does not wait: UNAVAILABLE if another lock is held, by this
  // process or another.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> LockFile(const std::string& path) = 0;

  // ALREADY_EXISTS if the path is taken; its parent must exist.
  virtual absl::Status CreateFolder(const std::string& path) = 0;
  // Creates the folder and its missing parents; returns once their names are on the device. One that exists is no
  // error.
  virtual absl::Status CreateFolders(const std::string& path) = 0;
  // The names in a folder, in no particular order.
  virtual absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path) = 0;
  // Returns once the folder's entries are on the device.
  virtual absl::Status SyncFolder(const std::string& path) = 0;

  // Atomic. `to` must not exist.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  // Removes a file or a folder with all it holds; a missing one is no error.
  virtual absl::Status RemoveAll(const std::string& path) = 0;
};

// The process's own file system. Lives for ever.
FileSystem* PosixFileSystem();

}  // namespace waggle
