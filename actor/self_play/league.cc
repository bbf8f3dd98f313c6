#include "actor/self_play/league.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace waggle {

League::League(const SelfPlayOptions& options, std::vector<std::unique_ptr<Policy>> policies)
    : options_(options), policies_(std::move(policies)) {
  WAGGLE_CHECK(static_cast<int64_t>(policies_.size()) == options_.policies(), "a league has a policy for each version");
}

absl::Status League::Take(const ModelSnapshot& snapshot) {
  WAGGLE_RETURN_IF_ERROR(policies_[0]->LoadWeights(snapshot));
  const uint64_t version = snapshot.version.version;
  // A learner that continues from a checkpoint steps back.
  const uint64_t last = last_.value_or(version);
  const uint64_t steps = std::max(version, last) - std::min(version, last);
  const size_t places = policies_.size() - 1;
  if (places == 0 || (last_.has_value() && steps < static_cast<uint64_t>(options_.every))) {
    return absl::OkStatus();
  }
  WAGGLE_RETURN_IF_ERROR(policies_[1 + next_]->LoadWeights(snapshot));
  next_ = (next_ + 1) % places;
  kept_ = std::min(kept_ + 1, places);
  last_ = version;
  return absl::OkStatus();
}

size_t League::Draw(Rng* rng) const {
  const bool newest = rng->Uniform() < options_.newest_share;
  return newest || kept_ == 0 ? 0 : 1 + static_cast<size_t>(rng->UniformInt(kept_));
}

void League::SetAllLanes(int64_t all_lanes) {
  for (const std::unique_ptr<Policy>& policy : policies_) {
    policy->SetAllLanes(all_lanes);
  }
}

void League::SetExploration(const ExplorationOptions& exploration) {
  for (const std::unique_ptr<Policy>& policy : policies_) {
    policy->SetExploration(exploration);
  }
}

}  // namespace waggle
