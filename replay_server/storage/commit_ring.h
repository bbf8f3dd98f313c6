#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/file.h"

namespace waggle {

// The last commits to a database, in a small file beside it. After a crash it shows if the end of the log is missing,
// which RocksDB cannot tell from a log that ends there. The file is never synced, as that would slow down each commit:
// after a power cut it may lack commits. Not thread-safe.
class CommitRing {
 public:
  static constexpr int64_t kCommits = 1024;  // Later commits overwrite the oldest.

  struct Lost {
    int64_t commits = 0;
    uint64_t items = 0;  // Items that they changed.
  };

  // Creates the file if it is missing.
  static absl::StatusOr<std::unique_ptr<CommitRing>> Open(const std::string& path);

  // Records a commit whose first sequence number in the database is `sequence` or later. Write errors are ignored.
  void Note(uint64_t sequence, uint64_t items);
  // The recorded commits that a database with last sequence number `sequence` lacks: a lower bound of its loss.
  Lost After(uint64_t sequence) const;
  // Forgets all commits. Must be called before sequence numbers are reused.
  void Clear();

 private:
  explicit CommitRing(File file) : file_(std::move(file)) {}

  File file_;
  int64_t next_ = 0;
};

}  // namespace waggle
