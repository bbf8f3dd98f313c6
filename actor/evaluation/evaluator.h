#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/acting/policy_buffers.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/vector_environment.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"
#include "common/rl/acting/policy.h"

namespace waggle {

// The results of episodes, one entry for each, in the same order.
struct EpisodeOutcomes {
  std::vector<double> returns;  // Sums of the steps' scalar rewards: see ScalarReward.
  std::vector<double> lengths;  // Steps.
  // Not by episode: the sums of each dimension of a vector reward over all steps, [k]; empty for other rewards.
  std::vector<double> reward_sums;
};

// Measures a greedy policy. Every lane runs exactly one episode in a round, then idles until the round is over: if
// lanes started again, short episodes would be overrepresented. Start states continue from one evaluation to the next,
// so evaluations see different ones. One thread.
class Evaluator {
 public:
  // `policy`, with a slot for each lane, is borrowed; a lane's number is its slot.
  Evaluator(std::unique_ptr<VectorEnvironment> environments, Policy* policy);

  // Runs `episodes`, at least 1, with the policy's present weights, in rounds of all lanes; the last round may have
  // fewer. A round with an episode that the environment broke off is run again. CANCELLED after a stop. The result's
  // `version` is not set.
  absl::StatusOr<Evaluation> Evaluate(int64_t episodes, const StopToken& stop);
  absl::StatusOr<EpisodeOutcomes> RunEpisodes(int64_t episodes, const StopToken& stop);

 private:
  // Runs one episode in each of the first `episodes` lanes.
  absl::Status RunRound(int64_t episodes, const StopToken& stop);
  absl::Status StartEpisodes(int64_t episodes);
  // Adds the lanes' rewards, and keeps the rows of lanes that must act.
  void TakeRows(const ReadyLanes& ready);
  // Acts in the lanes of acting_.
  absl::Status SendActions();

  const std::unique_ptr<VectorEnvironment> environments_;
  const int64_t lanes_;
  Policy* const policy_;
  PolicyBuffers buffers_;
  std::vector<int64_t> acting_;    // The lanes that must act.
  const LeafArrays observations_;  // Their observations, in the same order.
  std::vector<uint8_t> first_;
  std::vector<uint8_t> over_;  // By lane: its episode of this round is over.
  int64_t episodes_running_ = 0;
  EpisodeOutcomes outcomes_;  // This round's, by lane.
};

}  // namespace waggle
