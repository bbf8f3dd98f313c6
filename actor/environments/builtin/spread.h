#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `environment.options` of Spread-v0.
struct SpreadSettings {
  int64_t agents = 2;        // The number of landmarks equals it.
  double local_ratio = 0.5;  // The weight of an agent's own collisions; that of the distances is 1 - local_ratio.
  int64_t max_episode_steps = 25;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Agents that move in a plane and must cover all landmarks without touching each other: Spread-v0, numerically equal to
// simple_spread_v3 of mpe2 1.1 (first in arXiv 1706.02275) with discrete actions. The other agents' communication,
// which is always zero there, is not shown. Agent i has the leaves agent_i/observation, agent_i/action and
// agent_i/reward.
//
// Actions: none (0), left (1), right (2), down (3), up (4). An observation is the agent's own velocity and position,
// then the positions of all landmarks and of the other agents relative to it: (x, y) each. A step's reward is -(1 -
// local_ratio) times the sum over landmarks of the distance to the nearest agent, less local_ratio for each agent that
// the agent overlaps with. Episodes are truncated, never terminated.
class Spread : public EpisodicEnvironment {
 public:
  using Settings = SpreadSettings;

  struct Point {
    double x = 0;
    double y = 0;
  };
  struct State {
    std::vector<Point> positions;   // By agent.
    std::vector<Point> velocities;  // By agent.
    std::vector<Point> landmarks;
  };

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  Spread(const Settings& settings, uint64_t seed);

  // Starts a new episode from this state, to be compared with another implementation. It has as many points of each
  // sort as there are agents.
  void ResetTo(const State& state, absl::Span<void* const> observations);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // All at rest; agents and landmarks uniform in [-1, 1] in both coordinates.
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;
  // Adds the forces between agents that touch to forces_.
  void AddContactForces();
  void WriteRewards(float* rewards) const;
  void Show(absl::Span<void* const> observations);

  const double local_ratio_;
  Rng rng_;
  State state_;
  std::vector<Point> forces_;  // On each agent, in the present step.
  std::vector<float> shown_;   // The observation of one agent.
};

}  // namespace waggle
