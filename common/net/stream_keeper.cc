#include "common/net/stream_keeper.h"

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/net/retry.h"

namespace waggle {

StreamKeeper::StreamKeeper(StreamKeeperOptions options)
    : options_(std::move(options)), thread_("stream-keeper", [this] { Run(); }) {}

StreamKeeper::~StreamKeeper() {
  stop_.RequestStop();
  if (options_.goodbye != nullptr) {
    options_.goodbye();
  }
  std::function<void()> cancel;
  {
    MutexLock lock(&mutex_);
    cancel = cancel_;
  }
  if (cancel != nullptr) {
    cancel();
  }
}

void StreamKeeper::Began(std::function<void()> cancel) {
  {
    MutexLock lock(&mutex_);
    cancel_ = cancel;
  }
  if (stop_.StopRequested()) {
    cancel();
  }
}

void StreamKeeper::Opened() {
  bool back = false;
  {
    MutexLock lock(&mutex_);
    opened_ = true;
    back = std::exchange(away_, false);
  }
  if (back) {
    LogInfo(options_.name, ": the server is there");
  }
}

void StreamKeeper::Ended(absl::Status status) {
  std::function<void()> dropped;  // Destroyed outside the lock.
  MutexLock lock(&mutex_);
  dropped.swap(cancel_);
  ended_ = std::move(status);
  changed_.SignalAll();
}

absl::Status StreamKeeper::WaitForEnd() {
  MutexLock lock(&mutex_);
  while (!ended_.has_value()) {
    changed_.Wait(&mutex_);
  }
  return ended_->ok() ? absl::UnavailableError("the server ended the stream") : *ended_;
}

absl::Status StreamKeeper::Restore(const absl::Status& status, std::optional<Stopwatch>* missing) {
  const absl::Status restored = options_.restore(stop_);
  if (!restored.ok()) {
    missing->reset();  // The server went away again, or the restore failed for good.
    return MayPass(restored) ? absl::OkStatus() : restored;
  }
  if (!missing->has_value()) {
    missing->emplace();  // A restored table is tried at least once.
    return absl::OkStatus();
  }
  if ((*missing)->Elapsed() < options_.not_found_patience) {
    return absl::OkStatus();
  }
  return Annotate(status, absl::StrCat("still missing after ", absl::FormatDuration(options_.not_found_patience),
                                       "; this process cannot make it"));
}

void StreamKeeper::Run() {
  Backoff backoff = NewReconnectBackoff();
  std::optional<Stopwatch> missing;
  for (; !stop_.StopRequested(); stop_.WaitFor(backoff.Next())) {
    {
      MutexLock lock(&mutex_);
      ended_.reset();
      opened_ = false;
    }
    if (!options_.open(this)) {
      continue;
    }
    const absl::Status status = WaitForEnd();
    if (stop_.StopRequested()) {
      return;
    }
    bool was_away = false;
    {
      MutexLock lock(&mutex_);
      if (opened_) {
        backoff.Reset();
        missing.reset();
      }
      was_away = std::exchange(away_, true);
    }
    absl::Status final_error;
    if (options_.restore != nullptr && absl::IsNotFound(status)) {
      final_error = Restore(status, &missing);
    } else {
      missing.reset();
      final_error = MayPass(status) ? absl::OkStatus() : status;
    }
    if (!final_error.ok() && options_.failed != nullptr) {
      options_.failed(Annotate(final_error, options_.name));
      return;
    }
    if (!was_away) {
      LogWarning(options_.name, ": ", status.message(), "; trying again until it works");
    }
  }
}

}  // namespace waggle
