#include "common/rl/publishing/published_model.h"

#include <random>
#include <utility>

#include "common/base/backoff.h"
#include "common/base/log.h"

namespace waggle {
namespace {

constexpr absl::Duration kFirstPullPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPullPause = absl::Seconds(2);

}  // namespace

absl::StatusOr<std::optional<ModelSnapshot>> PullNewest(ModelSubscriber* subscriber, const StopToken& stop) {
  Backoff backoff(kFirstPullPause, kLongestPullPause, Rng(std::random_device()()));
  bool said = false;
  while (true) {
    absl::StatusOr<std::optional<ModelSnapshot>> newest = subscriber->PullNewer(std::nullopt, stop);
    if (!absl::IsUnavailable(newest.status())) {
      return newest;
    }
    if (!std::exchange(said, true)) {
      LogWarning("the newest weights are not available for now: ", newest.status().message());
    }
    if (stop.WaitFor(backoff.Next())) {
      return absl::CancelledError("stopped while waiting for the newest weights");
    }
  }
}

absl::Status PublishFirst(ModelSnapshot weights, ModelPublisher* publisher, const StopToken& stop) {
  weights.version = {};
  const absl::Status status = publisher->Publish(weights, stop);
  return absl::IsFailedPrecondition(status) ? absl::OkStatus() : status;
}

}  // namespace waggle
