#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `environment.options` of Docking-v0.
struct DockingSettings {
  double dock_radius = 0.15;  // The largest distance at which the craft can dock.
  double dock_speed = 0.3;    // The largest speed likewise.
  int64_t max_episode_steps = 50;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// A craft in a plane that must come to rest at a dock in the middle: Docking-v0, with a choice beside a real action. In
// a step it fires its thrusters along x (0) or along y (1), which adds the thrust, in [-1, 1], to that velocity, or it
// brakes (2), which takes away three quarters of both; then the velocity, per step, moves the position by a fifth of
// itself. No drag slows the craft down. The edge of the square [-1.5, 1.5]² stops it. The observation is position and
// velocity, each within 2. The reward is minus the distance to the dock. Terminates once docked.
class Docking : public EpisodicEnvironment {
 public:
  using Settings = DockingSettings;
  // Position x and y, velocity x and y.
  using State = std::array<double, 4>;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  Docking(const Settings& settings, uint64_t seed);

  // Starts a new episode from this state.
  void ResetTo(const State& state, void* observation);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // At rest, at a position that is uniform in [-1, 1]².
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;

  const Settings settings_;
  State state_{};
  Rng rng_;
};

}  // namespace waggle
