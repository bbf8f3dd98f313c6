#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/file.h"

namespace waggle {

// A file that grows by whole pieces. What cannot be written is kept and written later, in its order; meanwhile the file
// ends with a whole piece, so that those who read it see no part of one. Not thread-safe.
class GrowingFile {
 public:
  // Takes a file that is open for writing, not for appending. The next piece goes to `size`.
  GrowingFile(File file, int64_t size) : file_(std::move(file)), size_(size) {}
  // A new file, which `open` makes once there is something to write. After an error it is asked again with the next
  // Flush().
  using Open = std::function<absl::StatusOr<File>()>;
  explicit GrowingFile(Open open) : open_(std::move(open)) {}
  // Tries once more; what is kept after that is lost, which the log says.
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // Empty while the file is still to be made.
  const std::string& path() const { return file_.path(); }
  size_t kept_bytes() const { return kept_.size(); }

  // Whether the file was there and has no name any more.
  bool IsRemoved() const;

  // OK where Add takes the next piece, of whatever size. Where more than 16 MiB are kept, MakeRoom writes them first
  // and returns the error of that: a full disk must not fill the memory as well.
  absl::Status MakeRoom();

  // Keeps a piece for Flush; an error is that of MakeRoom, and the piece is not taken.
  absl::Status Add(absl::string_view piece);

  // Hands all that is kept to the operating system, or nothing of it.
  absl::Status Flush();

 private:
  const Open open_;   // Null for a file that was there.
  File file_;         // Not open while it is still to be made.
  int64_t size_ = 0;  // Of what the file has, in bytes.
  std::string kept_;  // What it does not have yet.
};

}  // namespace waggle
