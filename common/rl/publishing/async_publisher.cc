#include "common/rl/publishing/async_publisher.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/reason.h"

namespace waggle {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(2);

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

AsyncPublisher::AsyncPublisher(ModelPublisher* publisher, AsyncPublisherOptions options)
    : publisher_(publisher), options_(std::move(options)), thread_("publisher", [this] { Run(); }) {}

AsyncPublisher::~AsyncPublisher() {
  stop_.RequestStop();  // First: a thread that sees closed_ must see this.
  MutexLock lock(&mutex_);
  closed_ = true;
  changed_.SignalAll();
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
  const Deadline deadline(timeout);
  MutexLock lock(&mutex_);
  while (final_error_.ok() && (pending_.has_value() || publishing_)) {
    const absl::Duration left = deadline.Left();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError("the newest weights could not be published in time");
    }
    changed_.WaitFor(&mutex_, left);
  }
  return final_error_;
}

absl::Status AsyncPublisher::FlushLast(absl::Duration timeout, const StopToken* run_over, bool has_checkpoint) {
  absl::Status flushed;
  do {
    flushed = Flush(timeout);
  } while (absl::IsDeadlineExceeded(flushed) && run_over != nullptr && !run_over->StopRequested());
  if (absl::IsDeadlineExceeded(flushed) && has_checkpoint) {
    LogWarning("the last weights are in the last checkpoint only: ", flushed.ToString());
    return absl::OkStatus();
  }
  return Annotate(flushed, "publishing weights");
}

void AsyncPublisher::Run() {
  std::optional<ModelSnapshot> published;
  while (true) {
    const bool can_be_lost = published.has_value() && options_.known_version != nullptr;
    std::optional<ModelSnapshot> next = WaitForNext(can_be_lost ? options_.patience : absl::InfiniteDuration());
    if (stop_.StopRequested()) {
      return;
    }
    const bool again = !next.has_value();
    if (again && !(can_be_lost && IsLost(published->version))) {
      continue;
    }
    if (!again) {
      published = std::move(next);
    }
    if (const absl::Status status = PublishOne(*published, again); !status.ok()) {
      MutexLock lock(&mutex_);
      final_error_ = status;
      publishing_ = false;
      changed_.SignalAll();
      return;
    }
  }
}

std::optional<ModelSnapshot> AsyncPublisher::WaitForNext(absl::Duration timeout) {
  const Deadline deadline(timeout);
  MutexLock lock(&mutex_);
  publishing_ = false;
  changed_.SignalAll();
  while (!closed_ && !pending_.has_value() && deadline.Left() > absl::ZeroDuration()) {
    changed_.WaitFor(&mutex_, deadline.Left());
  }
  if (closed_ || !pending_.has_value()) {
    return std::nullopt;
  }
  publishing_ = true;
  return std::exchange(pending_, std::nullopt);
}

bool AsyncPublisher::IsLost(const ModelVersion& published) const {
  const std::optional<ModelVersion> known = options_.known_version();
  return !known.has_value() || *known < published;
}

absl::Status AsyncPublisher::PublishOne(const ModelSnapshot& snapshot, bool again) {
  absl::Duration pause = kFirstPause;
  bool unanswered = false;
  while (true) {
    const absl::Status status = publisher_->Publish(snapshot, stop_);
    if (stop_.StopRequested()) {
      return absl::OkStatus();  // No caller wants the result.
    }
    if ((again || unanswered) && absl::IsFailedPrecondition(status) && ReasonOf(status) != reasons::kLaterLearner) {
      // The server has this learner's version or a newer one. An earlier answer was lost, or the server reported late.
      return absl::OkStatus();
    }
    if (status.ok() && std::exchange(away_, false)) {
      LogInfo("weights are published again, from those of step ", snapshot.version.version, " on");
    }
    if (status.ok() && again) {
      LogInfo("the parameter server had lost weights ", snapshot.version.version, "; they are published again");
    }
    if (status.ok() || !MayPass(status)) {
      return status;
    }
    if (!std::exchange(away_, true)) {
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
