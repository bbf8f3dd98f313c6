#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "common/base/random.h"
#include "common/config/experiment/self_play.h"
#include "common/config/plan/exploration_options.h"
#include "common/hub/ports/model.h"
#include "common/rl/acting/policy.h"

namespace waggle {

// The opponents of an actor's learner in self-play: policies with the newest weights and with earlier versions of them,
// in a ring. Only versions that the actor has taken are in it. A new life of the actor begins with an empty ring. One
// thread.
class League {
 public:
  // `policies`: options.policies() of them, all alike, with a slot for each lane.
  League(const SelfPlayOptions& options, std::vector<std::unique_ptr<Policy>> policies);

  // Takes new weights. Keeps them too if nothing is kept yet, or if the last kept version is `every` learner steps
  // away; in a full ring they replace the oldest. An error of a policy is final.
  absl::Status Take(const ModelSnapshot& snapshot);

  // The opponent of a new episode, less than `policies`.
  size_t Draw(Rng* rng) const;

  // Policies that act: 0 has the newest weights. Another one's weights change if its version is replaced, as the
  // newest's do, also within an episode.
  size_t size() const { return policies_.size(); }
  Policy& policy(size_t opponent) const { return *policies_[opponent]; }

  void SetAllLanes(int64_t all_lanes);
  void SetExploration(const ExplorationOptions& exploration);

 private:
  const SelfPlayOptions options_;
  const std::vector<std::unique_ptr<Policy>> policies_;  // The newest, then the ring.
  size_t kept_ = 0;                                      // Versions in the ring.
  size_t next_ = 0;                                      // The place of the next one.
  std::optional<uint64_t> last_;                         // The last kept version.
};

}  // namespace waggle
