#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/leaf_arrays.h"
#include "actor/policy_buffers.h"
#include "actor/vector_environment.h"
#include "common/api/hub.h"
#include "common/base/stop_token.h"
#include "common/rl/policy.h"

namespace waggle {

// How episodes went: one entry each, in the same order.
struct EpisodeOutcomes {
  std::vector<double> returns;  // Sums of the steps' scalar rewards: see ScalarReward.
  std::vector<double> lengths;  // Steps.
};

// Measures how well a policy does when it is greedy. Every lane runs exactly one episode, and waits until the others'
// are over, without being computed: if lanes started again until enough episodes are over, short episodes would come in
// more often than long ones. Start states go on from one evaluation to the next, so no two see the same. One thread.
class Evaluator {
 public:
  // `policy`, with a slot for each lane, is borrowed; a lane's number is its slot.
  Evaluator(std::unique_ptr<VectorEnvironment> environments, Policy* policy);

  // Runs `episodes`, at least 1, with the policy's present weights: as many rounds of all lanes as it takes, the last
  // of them perhaps of fewer. A round in which the environment broke off an episode is run again. CANCELLED after a
  // stop. `version` of the result is not set.
  absl::StatusOr<Evaluation> Evaluate(int64_t episodes, const StopToken& stop);
  absl::StatusOr<EpisodeOutcomes> RunEpisodes(int64_t episodes, const StopToken& stop);

 private:
  // One episode in each of the first so many lanes.
  absl::Status RunRound(int64_t episodes, const StopToken& stop);
  absl::Status StartEpisodes(int64_t episodes);
  // Notes what the lanes show, and keeps the rows of those that must act.
  void TakeRows(const ReadyLanes& ready);
  // Has them act.
  absl::Status SendActions();

  const std::unique_ptr<VectorEnvironment> environments_;
  const int64_t lanes_;
  Policy* const policy_;
  PolicyBuffers buffers_;
  std::vector<int64_t> acting_;    // The lanes that must act.
  const LeafArrays observations_;  // Theirs, in the same order.
  std::vector<uint8_t> first_;
  std::vector<uint8_t> over_;  // By lane: its episode of this round is over.
  int64_t episodes_running_ = 0;
  EpisodeOutcomes outcomes_;  // Of this round, by lane.
};

}  // namespace waggle
