#include "actor/acting/weight_refresher.h"

#include <algorithm>
#include <utility>

#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// Prevents a tight loop if a subscriber's waits return early.
constexpr absl::Duration kMinPeriod = absl::Milliseconds(1);

}  // namespace

bool IsServerAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

WeightRefresher::WeightRefresher(absl::Duration period, const Backoff& backoff,
                                 std::unique_ptr<ModelSubscriber> subscriber, const StopToken& stop)
    : period_(std::max(period, kMinPeriod)),
      backoff_(backoff),
      stop_with_owner_(stop, [own = stop_] { own.RequestStop(); }),
      subscriber_(std::move(subscriber)),
      thread_("weights", [this] { Run(); }) {}

WeightRefresher::~WeightRefresher() {
  stop_.RequestStop();
}

absl::StatusOr<std::optional<ModelSnapshot>> WeightRefresher::Take() {
  MutexLock lock(&mutex_);
  WAGGLE_RETURN_IF_ERROR(final_error_);
  return std::exchange(newest_, std::nullopt);
}

absl::StatusOr<ModelSnapshot> WeightRefresher::WaitAndTake() {
  WAGGLE_ASSIGN_OR_RETURN(std::optional<ModelSnapshot> taken, WaitAndTake(absl::InfiniteDuration()));
  return *std::move(taken);
}

absl::StatusOr<std::optional<ModelSnapshot>> WeightRefresher::WaitAndTake(absl::Duration patience) {
  const Deadline deadline(patience);
  MutexLock lock(&mutex_);
  waits_.Begin();
  while (!newest_.has_value() && final_error_.ok() && deadline.Left() > absl::ZeroDuration()) {
    changed_.WaitFor(&mutex_, deadline.Left());
  }
  waits_.End();
  WAGGLE_RETURN_IF_ERROR(final_error_);
  return std::exchange(newest_, std::nullopt);
}

WeightRefresher::Stats WeightRefresher::stats() const {
  MutexLock lock(&mutex_);
  return {waits_.total(), waits_.waiting(), version_};
}

void WeightRefresher::Run() {
  std::optional<ModelVersion> version;
  bool away = false;
  while (true) {
    absl::Status fetched = FetchOne(&version);
    if (stop_.StopRequested()) {
      fetched = absl::CancelledError("fetching weights was stopped");
    }
    if (!fetched.ok() && !IsServerAway(fetched)) {
      MutexLock lock(&mutex_);
      final_error_ = fetched;
      changed_.SignalAll();
      return;
    }
    if (fetched.ok() == away) {  // Logged once for each absence.
      away = !away;
      LogInfo(away ? "no newer weights for the moment, going on without: " : "newer weights again", fetched.message());
    }
    if (fetched.ok()) {
      backoff_.Reset();
    }
    stop_.WaitFor(fetched.ok() ? period_ : backoff_.Next());
  }
}

absl::Status WeightRefresher::FetchOne(std::optional<ModelVersion>* newest) {
  std::optional<ModelVersion>& version = *newest;
  WAGGLE_RETURN_IF_ERROR(subscriber_->WaitNewer(version, stop_));
  WAGGLE_ASSIGN_OR_RETURN(std::optional<ModelSnapshot> snapshot, subscriber_->PullNewer(version, stop_));
  if (!snapshot.has_value()) {
    return absl::OkStatus();
  }
  version = snapshot->version;
  std::optional<ModelSnapshot> replaced = std::move(snapshot);  // Freed after the lock.
  MutexLock lock(&mutex_);
  newest_.swap(replaced);
  version_ = version;
  changed_.SignalAll();
  return absl::OkStatus();
}

}  // namespace waggle
