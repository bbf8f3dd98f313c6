#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/acting/policy_buffers.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/vector_environment.h"
#include "actor/self_play/league.h"
#include "actor/writing/ready_rows.h"
#include "common/base/random.h"

namespace waggle {

// An environment of two agents as an environment of one, the learner: its spec is SelfPlaySpec of the inner one. An
// episode's first row draws, for its lane, the learner's agent and the opponent, which acts for the other agent as it
// explores. Only the learner's rows come out, and its rewards: there are no raw ones. Opponents act when a row is
// received, all lanes of one in a batch; so the league must have weights by then. An opponent's error is final.
class SelfPlayEnvironment : public VectorEnvironment {
 public:
  // Draws follow from `rng`. INVALID_ARGUMENT for an environment that SelfPlaySpec refuses.
  static absl::StatusOr<std::unique_ptr<SelfPlayEnvironment>> Create(std::unique_ptr<VectorEnvironment> inner,
                                                                     std::unique_ptr<League> league, Rng rng);

  League& league() { return *league_; }

  const EnvironmentSpec& spec() const override { return spec_; }
  int64_t lanes() const override { return inner_->lanes(); }
  bool lanes_step_together() const override { return inner_->lanes_step_together(); }
  absl::Status Start(absl::Span<const int64_t> lanes) override { return inner_->Start(lanes); }
  absl::Status Reset() override { return inner_->Reset(); }
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override;
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;
  EnvironmentHealth health() const override { return inner_->health(); }
  absl::StatusOr<Picture> Draw(int64_t lane) const override { return inner_->Draw(lane); }

 private:
  // The inner environment's indices of an agent's leaves, in the order of the spec's.
  struct Agent {
    std::vector<size_t> observations, actions, rewards;
  };
  // The players of a lane's present episode.
  struct Match {
    size_t learner = 0;  // The learner's agent; the opponent's is the other.
    size_t opponent = 0;
  };

  SelfPlayEnvironment(std::unique_ptr<VectorEnvironment> inner, EnvironmentSpec spec, std::unique_ptr<League> league,
                      Rng rng);

  // Keeps an action of each row's opponent, unless the row is an episode's last.
  absl::Status ActByOpponents(const ReadyLanes& ready);
  // Adds the learner's part of a row to rows_.
  void AddRow(const ReadyLanes& ready, size_t row);

  const std::unique_ptr<VectorEnvironment> inner_;
  const EnvironmentSpec spec_;
  const std::unique_ptr<League> league_;
  Rng rng_;
  std::array<Agent, 2> agents_;
  std::vector<Match> matches_;  // By lane.
  ReadyRows rows_;
  // An opponent's batch.
  std::vector<int64_t> batch_;  // Its lanes.
  std::vector<uint8_t> first_;
  const LeafArrays observations_;
  PolicyBuffers decisions_;
  const LeafArrays opponents_actions_;  // By lane: the next ones.
  const LeafArrays joint_actions_;      // Those of both agents, for the inner environment.
};

}  // namespace waggle
