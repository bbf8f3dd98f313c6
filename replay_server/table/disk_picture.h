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

// How what a server's tables are to keep gets to its disk, at one moment. All as it is here where nothing is kept.
struct DiskPicture {
  std::string folder;      // The server's, as a path of its machine; empty where it is not known.
  absl::Status failure;    // Why nothing can be written just now, in the words of the disk.
  absl::Duration failing;  // How long that has been so: it is tried again and again.
  // How long somebody has waited for the commit that is under way, or for the next one; zero where nobody does.
  absl::Duration commit_waits;
  bool makes_checkpoint = false;  // Now: commits wait for that.
  // Of the last checkpoint that was kept since the server was started; none where none was.
  uint64_t checkpoint_number = 0;
  std::optional<absl::Duration> checkpoint_ago;
  std::string checkpoint_problem;  // Why the last one that was tried was not kept; empty where it was.

  // Of one table: what its writers have sent and is not acknowledged yet.
  int64_t unacknowledged_blocks = 0;
  int64_t unacknowledged_bytes = 0;
};

// Whether room on the disk would help: it is full, or a quota or a limit on files is reached. Where files or memory
// have run out it would not.
inline bool LacksRoom(const absl::Status& failure) {
  const auto says = [&failure](absl::string_view words) { return absl::StrContains(failure.message(), words); };
  if (says("Too many open files") || says("Cannot allocate memory")) {
    return false;
  }
  // Where a database could not be opened again, it is that what the disk has said.
  return absl::IsResourceExhausted(failure) || says("No space left") || says("quota exceeded") ||
         says("File too large");
}

// In words, why nothing that is to be kept is written just now. The failure is not OK.
inline std::string WhyNotWritten(const absl::Status& failure) {
  return absl::StrCat("replay cannot be written to disk, and goes on when it can: ", failure.message());
}

}  // namespace waggle
