#pragma once

#include <array>
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

// `environment.options` of GridWorld-v0. Cells are numbered row by row, from 0 at the top left.
struct GridWorldSettings {
  int64_t width = 5;
  int64_t height = 5;
  std::vector<int64_t> walls;  // Cells that cannot be entered.
  double slip = 0;             // The share of moves that go sideways instead.
  int64_t max_episode_steps = 100;

  void Visit(ConfigVisitor& visitor);
  // INVALID_ARGUMENT if a wall is outside or at the goal, or if no other cell leads to the goal.
  absl::Status Validate() const;
};

// A grid with walls and a goal, the last cell: GridWorld-v0. The observation is the number of the present cell. Actions
// go to the left (0), down (1), to the right (2) and up (3), as in Gymnasium's FrozenLake; a mask shows which of them
// lead to a cell without a wall, and the others are refused. A move that slips into a wall or the edge goes nowhere.
// The reward is 1 at the goal, which is terminal, else 0.
class GridWorld : public EpisodicEnvironment {
 public:
  using Settings = GridWorldSettings;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  // `settings` must be valid.
  GridWorld(const Settings& settings, uint64_t seed);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // A cell's neighbours by action. An action that is not possible leads to the cell itself.
  using Exits = std::array<int64_t, 4>;

  // The start is uniform over the cells that lead to the goal.
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;
  void Show(absl::Span<void* const> observations) const;

  const int64_t width_;
  const std::vector<int64_t> walls_;
  const int64_t goal_;
  const double slip_;
  const std::vector<int64_t> starts_;
  std::vector<Exits> exits_;  // By cell.
  Rng rng_;
  int64_t cell_ = 0;
};

}  // namespace waggle
