#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environment_lanes.h"
#include "actor/environments/environment.h"
#include "actor/leaf_arrays.h"
#include "actor/policy_buffers.h"
#include "common/api/hub.h"
#include "common/base/random.h"
#include "common/base/stop_token.h"
#include "common/rl/policy.h"

namespace waggle {

// How episodes went: one entry each, in the same order.
struct EpisodeOutcomes {
  std::vector<double> returns;  // Sums of the steps' scalar rewards: see ScalarReward.
  std::vector<double> lengths;  // Steps.
};

// Measures how well a policy does when it is greedy. Every lane runs exactly one episode, and waits until the others'
// are over, without being computed: were lanes to start again until enough episodes are over, short episodes would come
// in more often than long ones. Start states go on from one evaluation to the next, so no two see the same. One thread.
class Evaluator {
 public:
  // INVALID_ARGUMENT for less than one lane, or where an environment is not as its definition says. `policy`, of
  // `lanes` slots, is borrowed; a lane's number is its slot.
  static absl::StatusOr<std::unique_ptr<Evaluator>> Create(const EnvironmentDefinition& definition,
                                                           const EnvironmentOptions& options, int64_t lanes, Rng rng,
                                                           Policy* policy);

  // Runs `episodes`, at least 1, with the policy's present weights: as many rounds of all lanes as it takes, the last
  // of them perhaps of fewer. CANCELLED after a stop. `version` of the result is not set.
  absl::StatusOr<Evaluation> Evaluate(int64_t episodes, const StopToken& stop);
  absl::StatusOr<EpisodeOutcomes> RunEpisodes(int64_t episodes, const StopToken& stop);

 private:
  Evaluator(std::vector<std::unique_ptr<Environment>> environments, Policy* policy);

  // One episode in each of the first so many lanes.
  absl::Status RunRound(int64_t episodes, const StopToken& stop);
  absl::Status StartEpisodes(int64_t episodes);
  absl::Status StepLanes();

  EnvironmentLanes environments_;
  const int64_t lanes_;
  Policy* const policy_;
  PolicyBuffers buffers_;
  std::vector<int64_t> running_;   // The lanes whose episode goes on.
  const LeafArrays observations_;  // Theirs, in the same order.
  std::vector<uint8_t> first_;
  EpisodeOutcomes outcomes_;  // Of this round, by lane.
};

}  // namespace waggle
