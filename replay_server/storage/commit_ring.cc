#include "replay_server/storage/commit_ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/tensor/checksum.h"

namespace waggle {
namespace {

// As it is in the file, in the machine's order of bytes: it means nothing to another one.
struct Entry {
  uint64_t sequence = 0;
  uint64_t items = 0;
  uint64_t checksum = 0;

  uint64_t Expected() const { return Checksum(this, 2 * sizeof(uint64_t)); }
};

}  // namespace

absl::StatusOr<std::unique_ptr<CommitRing>> CommitRing::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": ", strerror(errno)));
  }
  return std::unique_ptr<CommitRing>(new CommitRing(file));
}

CommitRing::~CommitRing() {
  close(file_);
}

void CommitRing::Note(uint64_t sequence, uint64_t items) {
  Entry entry{sequence, items, 0};
  entry.checksum = entry.Expected();
  // Where it fails, less is known after a crash, and nothing else is wrong.
  (void)!pwrite(file_, &entry, sizeof(entry), next_ * static_cast<int64_t>(sizeof(entry)));
  next_ = (next_ + 1) % kCommits;
}

CommitRing::Lost CommitRing::After(uint64_t sequence) const {
  Lost lost;
  for (int64_t i = 0; i < kCommits; ++i) {
    Entry entry;
    if (pread(file_, &entry, sizeof(entry), i * static_cast<int64_t>(sizeof(entry))) != sizeof(entry)) {
      break;
    }
    if (entry.checksum == entry.Expected() && entry.sequence > sequence) {
      ++lost.commits;
      lost.items += entry.items;
    }
  }
  return lost;
}

void CommitRing::Clear() {
  // Where it fails, what is in the file may be told again.
  (void)!ftruncate(file_, 0);
  next_ = 0;
}

}  // namespace waggle
