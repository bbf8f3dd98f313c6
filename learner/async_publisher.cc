#include "learner/async_publisher.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/log.h"

namespace waggle {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(2);

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

AsyncPublisher::AsyncPublisher(ModelPublisher* publisher)
    : publisher_(publisher), thread_("publisher", [this] { Run(); }) {}

AsyncPublisher::~AsyncPublisher() {
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    changed_.SignalAll();
  }
  stop_.RequestStop();
}

absl::Status AsyncPublisher::Publish(ModelSnapshot snapshot) {
  MutexLock lock(&mutex_);
  if (!final_error_.ok()) {
    return final_error_;
  }
  pending_ = std::move(snapshot);
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::Status AsyncPublisher::Flush(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  MutexLock lock(&mutex_);
  while (final_error_.ok() && (pending_.has_value() || publishing_)) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError("the newest weights could not be published in time");
    }
    changed_.WaitFor(&mutex_, left);
  }
  return final_error_;
}

void AsyncPublisher::Run() {
  while (true) {
    ModelSnapshot snapshot;
    {
      MutexLock lock(&mutex_);
      publishing_ = false;
      changed_.SignalAll();
      while (!closed_ && !pending_.has_value()) {
        changed_.Wait(&mutex_);
      }
      if (closed_) {
        return;
      }
      snapshot = *std::move(pending_);
      pending_.reset();
      publishing_ = true;
    }
    if (const absl::Status status = PublishOne(snapshot); !status.ok()) {
      MutexLock lock(&mutex_);
      final_error_ = status;
      publishing_ = false;
      changed_.SignalAll();
      return;
    }
  }
}

absl::Status AsyncPublisher::PublishOne(const ModelSnapshot& snapshot) {
  absl::Duration pause = kFirstPause;
  bool unanswered = false;
  while (true) {
    const absl::Status status = publisher_->Publish(snapshot);
    if (unanswered && absl::IsFailedPrecondition(status)) {
      // The attempt before may have arrived although its answer did not. Whoever is truly outdated learns it from the
      // next version.
      return absl::OkStatus();
    }
    if (status.ok() || !MayPass(status)) {
      return status;
    }
    if (!unanswered) {
      LogWarning("publishing weights ", snapshot.version.version, " failed and is tried again: ", status.ToString());
    }
    unanswered = true;
    if (stop_.WaitFor(pause)) {
      return absl::OkStatus();
    }
    pause = std::min(2 * pause, kLongestPause);
    MutexLock lock(&mutex_);
    if (pending_.has_value()) {
      return absl::OkStatus();
    }
  }
}

}  // namespace waggle
