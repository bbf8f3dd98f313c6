#include "learner/peer_weights.h"

#include <optional>
#include <utility>

#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "learner/published_weights.h"

namespace waggle {

PeerWeights::PeerWeights(HubLink* hub, Subscribe subscribe, Trainee* trainee, uint64_t obeyed)
    : hub_(hub), subscribe_(std::move(subscribe)), trainee_(trainee), obeyed_(obeyed) {}

absl::StatusOr<bool> PeerWeights::TakeIfOrdered(const StopToken& stop) {
  const Exploit order = hub_->assignment().exploit;
  if (order.serial <= obeyed_) {
    return false;
  }
  const std::unique_ptr<ModelSubscriber> subscriber = subscribe_(order.source);
  const absl::StatusOr<std::optional<int64_t>> step = LoadPublishedWeights(subscriber.get(), stop, trainee_);
  if (!step.ok() && !absl::IsNotFound(step.status())) {
    return step.status();
  }
  obeyed_ = order.serial;
  const bool taken = step.ok() && step->has_value();
  if (taken) {
    LogInfo("learns on with the weights of ", order.source, ", of its step ", **step);
  } else {
    LogWarning("learns on with its own weights: those of ", order.source,
               " are not there: ", step.ok() ? "it has none" : step.status().message());
  }
  return taken;
}

}  // namespace waggle
