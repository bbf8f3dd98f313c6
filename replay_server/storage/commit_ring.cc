#include "replay_server/storage/commit_ring.h"

#include <fcntl.h>

#include <cstring>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"

namespace waggle {
namespace {

// The entry's format in the file, in the machine's byte order: other machines do not read it.
struct Entry {
  uint64_t sequence = 0;
  uint64_t items = 0;
  uint64_t checksum = 0;

  uint64_t Expected() const { return Checksum(this, 2 * sizeof(uint64_t)); }
};

constexpr int64_t kEntryBytes = sizeof(Entry);

}  // namespace

absl::StatusOr<std::unique_ptr<CommitRing>> CommitRing::Open(const std::string& path) {
  WAGGLE_ASSIGN_OR_RETURN(File file, File::Open(path, O_RDWR | O_CREAT));
  return std::unique_ptr<CommitRing>(new CommitRing(std::move(file)));
}

void CommitRing::Note(uint64_t sequence, uint64_t items) {
  Entry entry{sequence, items, 0};
  entry.checksum = entry.Expected();
  // After an error less is known after a crash. It does no other harm.
  file_.WriteAt(next_ * kEntryBytes, {reinterpret_cast<const char*>(&entry), sizeof(entry)}).IgnoreError();
  next_ = (next_ + 1) % kCommits;
}

CommitRing::Lost CommitRing::After(uint64_t sequence) const {
  Lost lost;
  const std::string entries = file_.ReadAt(0, kCommits * kEntryBytes).value_or("");
  for (int64_t at = 0; at + kEntryBytes <= static_cast<int64_t>(entries.size()); at += kEntryBytes) {
    Entry entry;
    std::memcpy(&entry, entries.data() + at, sizeof(entry));
    if (entry.checksum == entry.Expected() && entry.sequence > sequence) {
      ++lost.commits;
      lost.items += entry.items;
    }
  }
  return lost;
}

void CommitRing::Clear() {
  // After an error the file's commits may be reported again.
  file_.Truncate(0).IgnoreError();
  next_ = 0;
}

}  // namespace waggle
