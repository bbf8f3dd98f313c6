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

// A file that grows by whole pieces. Pieces that cannot be written are kept and written later, in their order.
// Meanwhile the file ends with a whole piece, so that readers see no part of one. Not thread-safe.
class GrowingFile {
 public:
  // Takes a file that is open for writing, not for appending. The next piece goes to `size`.
  GrowingFile(File file, int64_t size) : file_(std::move(file)), size_(size) {}
  // A new file, which `open` makes once there is something to write. After an error the next Flush()
  // calls it again.
  using Open = std::function<absl::StatusOr<File>()>;
  explicit GrowingFile(Open open) : open_(std::move(open)) {}
  // Tries once more; pieces that are kept after that are lost, and the loss is logged.
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // Empty until the file is made.
  const std::string& path() const { return file_.path(); }
  size_t kept_bytes() const { return kept_.size(); }

  // True if the file existed and has no name any more.
  bool IsRemoved() const;

  // OK if Add takes the next piece, of whatever size. If more than 16 MiB are kept, MakeRoom writes them first and
  // returns the error of that: a full disk must not fill the memory as well.
  absl::Status MakeRoom();

  // Keeps a piece for Flush. An error is MakeRoom's, and the piece is not taken.
  absl::Status Add(absl::string_view piece);

  // Hands all kept pieces to the operating system, or none of them.
  absl::Status Flush();

 private:
  const Open open_;   // Null for an existing file.
  File file_;         // Not open until the file is made.
  int64_t size_ = 0;  // Bytes in the file.
  std::string kept_;  // Bytes that are not in the file yet.
};

}  // namespace waggle
