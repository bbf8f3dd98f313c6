#include "common/replay_client/stream_keeper.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/rpc/retry.h"

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

absl::Status StreamKeeper::Restore(const absl::Status& status, std::optional<Stopwatch>* missing) {
  const absl::Status restored = options_.restore(stop_);
  if (!restored.ok()) {
    missing->reset();  // Its server went away again, or it can never be restored.
    return MayPass(restored) ? absl::OkStatus() : restored;
  }
  if (!missing->has_value()) {
    missing->emplace();  // What was restored is tried at least once.
    return absl::OkStatus();
  }
  if ((*missing)->Elapsed() < options_.not_found_patience) {
    return absl::OkStatus();
  }
  return Annotate(status, absl::StrCat("still missing after ", absl::FormatDuration(options_.not_found_patience),
                                       ", and not for this process to make"));
}

void StreamKeeper::Run() {
  Backoff backoff = NewReconnectBackoff();
  std::optional<Stopwatch> missing;
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
        missing.reset();
      }
      was_away = std::exchange(away_, true);
    }
    absl::Status final_error;
    if (absl::IsNotFound(status)) {
      final_error = Restore(status, &missing);
    } else {
      missing.reset();
      final_error = MayPass(status) ? absl::OkStatus() : status;
    }
    if (!final_error.ok()) {
      options_.failed(Annotate(final_error, options_.name));
      return;
    }
    if (!was_away) {
      LogWarning(options_.name, ": ", status.message(), "; trying again until it works");
    }
    stop_.WaitFor(backoff.Next());
  }
}

}  // namespace waggle
