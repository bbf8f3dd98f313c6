#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/file.h"

namespace waggle {

// The last commits to a database, in a small file beside it: what tells after a crash that the end of its log is
// missing. RocksDB takes a log that was cut short for one that ends there. The file is never synced, as that would cost
// each commit a wait for the disk: after a power cut it may know less than the log held. Not thread-safe.
class CommitRing {
 public:
  static constexpr int64_t kCommits = 1024;  // Past these the oldest ones are overwritten.

  struct Lost {
    int64_t commits = 0;
    uint64_t items = 0;  // That changed with them.
  };

  // Makes the file if it is missing.
  static absl::StatusOr<std::unique_ptr<CommitRing>> Open(const std::string& path);

  // A commit was written that begins with this sequence number of the database's, or a later one. Where the file cannot
  // be written it is not known of.
  void Note(uint64_t sequence, uint64_t items);
  // Of the commits that are known of, those that a database does not have whose last sequence number is `sequence`. At
  // least as many are lost.
  Lost After(uint64_t sequence) const;
  // Forgets all: numbers are given anew to others.
  void Clear();

 private:
  explicit CommitRing(File file) : file_(std::move(file)) {}

  File file_;
  int64_t next_ = 0;
};

}  // namespace waggle
