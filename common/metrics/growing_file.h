#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace waggle {

// A file that grows by whole pieces. What cannot be written is kept and written later, in its order; meanwhile the file
// ends with a whole piece, so that those who read it see no part of one. Not thread-safe.
class GrowingFile {
 public:
  // Takes a descriptor that is open for writing, not for appending. The next piece goes to `size`.
  GrowingFile(std::string path, int descriptor, int64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}
  // Tries once more; what is kept after that is lost, which the log says.
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  const std::string& path() const { return path_; }
  size_t kept_bytes() const { return kept_.size(); }

  // Keeps a piece for Flush. Once 16 MiB are kept, the error of writing them, and the piece is not taken: a full disk
  // must not fill the memory as well.
  absl::Status Add(absl::string_view piece);

  // Hands all that is kept to the operating system, or nothing of it.
  absl::Status Flush();

 private:
  const std::string path_;
  const int descriptor_;
  int64_t size_;      // Of what the file has, in bytes.
  std::string kept_;  // What it does not have yet.
};

}  // namespace waggle
