#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `environment.options` of PointMass-v0.
struct PointMassSettings {
  std::string reward = "sparse";  // 0 within goal_radius of the goal, else -1; dense: minus the distance to it.
  double goal_radius = 0.1;
  int64_t max_episode_steps = 50;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// A point in the square [-1, 1]² that is accelerated in both directions and must reach a goal and stay there:
// PointMass-v0, with goals like those of Gymnasium's robots (arXiv 1802.09464). A step is 0.1 seconds: the velocity
// becomes 0.9 of itself plus 0.2 times the action, which is in [-1, 1]², and then moves the position. The edge stops
// the point. The observation is position and velocity, the achieved goal is the position. A step's reward follows from
// the achieved and the desired goal that it shows. Episodes are truncated, never terminated.
class PointMass : public EpisodicEnvironment {
 public:
  using Settings = PointMassSettings;

  struct Coordinate {
    double position = 0;
    double velocity = 0;  // Per second.
    double goal = 0;
  };
  struct State {
    Coordinate x;
    Coordinate y;
  };

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  PointMass(const Settings& settings, uint64_t seed);

  // Starts a new episode from this state.
  void ResetTo(const State& state, absl::Span<void* const> observations);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // At rest; the position and the goal are uniform in the square.
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;
  float Reward() const;
  void Show(absl::Span<void* const> observations) const;

  const bool is_dense_;
  const double goal_radius_;
  Rng rng_;
  State state_;
};

}  // namespace waggle
