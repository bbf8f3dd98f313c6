#include "common/clients/stream_keeper.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/clients/retry.h"

namespace waggle {

StreamKeeper::StreamKeeper(StreamKeeperOptions options)
    : options_(std::move(options)), thread_("replay-stream", [this] { Run(); }) {}

StreamKeeper::~StreamKeeper() {
  stop_.RequestStop();
  options_.cancel();
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

absl::Status StreamKeeper::RunStream() {
  {
    MutexLock lock(&mutex_);
    ended_.reset();
    opened_ = false;
  }
  options_.open([this](absl::Status status) {
    MutexLock lock(&mutex_);
    ended_ = std::move(status);
    changed_.SignalAll();
  });
  MutexLock lock(&mutex_);
  while (!ended_.has_value()) {
    changed_.Wait(&mutex_);
  }
  return ended_->ok() ? absl::UnavailableError("the server ended the stream") : *ended_;
}

void StreamKeeper::Run() {
  Backoff backoff = NewReconnectBackoff();
  std::optional<absl::Time> missing_since;
  while (!stop_.StopRequested()) {
    const absl::Status status = RunStream();
    if (stop_.StopRequested()) {
      return;
    }
    bool was_away = false;
    {
      MutexLock lock(&mutex_);
      if (opened_) {
        backoff.Reset();
        missing_since.reset();
      }
      was_away = std::exchange(away_, true);
    }
    if (absl::IsNotFound(status)) {
      const absl::Time now = absl::Now();
      missing_since = missing_since.value_or(now);
      if (now - *missing_since >= options_.not_found_patience) {
        options_.failed(Annotate(status, options_.name));
        return;
      }
      const absl::Status restored = options_.restore(stop_);
      if (!restored.ok() && !MayPass(restored)) {
        options_.failed(Annotate(restored, options_.name));
        return;
      }
    } else if (!MayPass(status)) {
      options_.failed(Annotate(status, options_.name));
      return;
    }
    if (!was_away) {
      LogWarning(options_.name, ": ", status.message(), "; trying again until it works");
    }
    stop_.WaitFor(backoff.Next());
  }
}

}  // namespace waggle
