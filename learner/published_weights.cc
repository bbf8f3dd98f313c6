#include "learner/published_weights.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr absl::Duration kFirstPullPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPullPause = absl::Seconds(2);
// Steps are counted in doubles too.
constexpr uint64_t kMaxStep = uint64_t{1} << 53;

absl::StatusOr<std::optional<ModelSnapshot>> PullNewest(ModelSubscriber* subscriber, const StopToken& stop) {
  Backoff backoff(kFirstPullPause, kLongestPullPause, Rng(std::random_device()()));
  bool said = false;
  while (true) {
    absl::StatusOr<std::optional<ModelSnapshot>> newest = subscriber->PullNewer(std::nullopt);
    if (!absl::IsUnavailable(newest.status())) {
      return newest;
    }
    if (!std::exchange(said, true)) {
      LogWarning("the newest weights cannot be had for the moment: ", newest.status().message());
    }
    if (stop.WaitFor(backoff.Next())) {
      return absl::CancelledError("stopped while waiting for the newest weights");
    }
  }
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> LoadPublishedWeights(ModelSubscriber* subscriber, const StopToken& stop,
                                                            Trainee* trainee) {
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<ModelSnapshot> newest, PullNewest(subscriber, stop));
  if (!newest.has_value()) {
    return std::optional<int64_t>();
  }
  const uint64_t step = newest->version.version;
  if (step > kMaxStep) {
    return absl::DataLossError(
        absl::StrCat("the newest weights are of step ", step, "; at most ", kMaxStep, " can be"));
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(trainee->LoadPublished(*newest), "going on from the newest weights"));
  return std::optional<int64_t>(static_cast<int64_t>(step));
}

}  // namespace waggle
