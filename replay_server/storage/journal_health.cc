#include "replay_server/storage/journal_health.h"

#include <algorithm>

#include "common/base/steady_now.h"

namespace waggle {

absl::Status JournalHealth::status() const {
  if (healthy_.load(std::memory_order_relaxed)) {
    return absl::OkStatus();
  }
  MutexLock lock(&mutex_);
  return failure_.ok() ? failure_ : absl::UnavailableError(WhyNotWritten(failure_));
}

bool JournalHealth::Failed(const absl::Status& failure) {
  MutexLock lock(&mutex_);
  const bool first = failure_.ok();
  failed_at_ = first ? SteadyElapsed() : failed_at_;
  failure_ = failure;
  healthy_ = false;
  return first;
}

bool JournalHealth::Succeeded() {
  if (healthy_.load(std::memory_order_relaxed)) {
    return false;
  }
  MutexLock lock(&mutex_);
  const bool first = !failure_.ok();
  failure_ = absl::OkStatus();
  healthy_ = true;
  return first;
}

void JournalHealth::CommitAwaited() {
  if (next_since_ns_.load(std::memory_order_relaxed) == 0) {
    next_since_ns_ = CoarseSteadyNanoseconds();
  }
}

void JournalHealth::CheckpointEnds(const absl::Status& status, uint64_t number) {
  makes_checkpoint_ = false;
  checkpoints_.Note(status, number);
}

DiskPicture JournalHealth::picture() const {
  DiskPicture picture;
  picture.folder = folder_;
  // Read first: CommitBegins moves it to the other one before it clears it.
  const int64_t next = next_since_ns_.load();
  for (const int64_t since : {next, commit_since_ns_.load()}) {
    if (since != 0) {
      picture.commit_waits = std::max(picture.commit_waits, absl::Nanoseconds(CoarseSteadyNanoseconds() - since));
    }
  }
  picture.makes_checkpoint = makes_checkpoint_;
  const LastCheckpoint::Info last = checkpoints_.info();
  if (last.kept.has_value()) {
    picture.checkpoint_number = last.number;
    picture.checkpoint_ago = SteadyNow() - *last.kept;
  }
  picture.checkpoint_problem = last.problem;
  MutexLock lock(&mutex_);
  picture.failure = failure_;
  picture.failing = failure_.ok() ? absl::ZeroDuration() : SteadyElapsed() - failed_at_;
  return picture;
}

}  // namespace waggle
