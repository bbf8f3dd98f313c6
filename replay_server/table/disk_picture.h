#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace waggle {

// The state of a server's writes to disk at one moment. Has the defaults if no table is saved.
struct DiskPicture {
  std::string folder;      // Absolute path on the server; empty if unknown.
  absl::Status failure;    // The disk's error if writing fails now.
  absl::Duration failing;  // Time since writing began to fail. It is retried.
  // Longest wait of a caller for the current or next commit; zero if none waits.
  absl::Duration commit_waits;
  bool makes_checkpoint = false;  // True while a checkpoint is made. Commits wait for it.
  // The last checkpoint that was kept since the start; null if there is none.
  uint64_t checkpoint_number = 0;
  std::optional<absl::Duration> checkpoint_ago;
  std::string checkpoint_problem;  // Why the last attempt was not kept; empty if it was.

  // Blocks of one table's writers that are not acknowledged yet.
  int64_t unacknowledged_blocks = 0;
  int64_t unacknowledged_bytes = 0;
};

// True if space would help: a full disk, a quota, a limit of file sizes. False if files or memory have run out.
inline bool LacksRoom(const absl::Status& failure) {
  const auto says = [&failure](absl::string_view words) { return absl::StrContains(failure.message(), words); };
  if (says("Too many open files") || says("Cannot allocate memory")) {
    return false;
  }
  // A database that could not be reopened has the disk's message.
  return absl::IsResourceExhausted(failure) || says("No space left") || says("quota exceeded") ||
         says("File too large");
}

// Explains why nothing is saved now. The failure must not be OK.
inline std::string WhyNotWritten(const absl::Status& failure) {
  return absl::StrCat("replay cannot be written to disk, and goes on when it can: ", failure.message());
}

}  // namespace waggle
