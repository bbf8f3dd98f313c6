#include "actor/environments/builtin/grid_world.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "actor/environments/element_access.h"
#include "actor/environments/pictures/grid_picture.h"

namespace waggle {
namespace {

constexpr int64_t kNumActions = 4;  // Left, down, right, up.
constexpr double kMostSide = 100;

int64_t GoalOf(const GridWorldSettings& grid) {
  return grid.width * grid.height - 1;
}

bool IsWall(const GridWorldSettings& grid, int64_t cell) {
  return std::find(grid.walls.begin(), grid.walls.end(), cell) != grid.walls.end();
}

// The cell after an action; `cell` itself if a wall or the edge is in the way.
int64_t Move(const GridWorldSettings& grid, int64_t cell, int64_t action) {
  constexpr int64_t kRight[kNumActions] = {-1, 0, 1, 0};
  constexpr int64_t kDown[kNumActions] = {0, 1, 0, -1};
  const int64_t column = cell % grid.width + kRight[action];
  const int64_t row = cell / grid.width + kDown[action];
  if (column < 0 || column >= grid.width || row < 0 || row >= grid.height) {
    return cell;
  }
  const int64_t next = row * grid.width + column;
  return IsWall(grid, next) ? cell : next;
}

// All cells but the goal that lead to it. Moves can be undone, so these are the cells that the goal leads to.
std::vector<int64_t> CellsThatLeadToGoal(const GridWorldSettings& grid) {
  std::vector<int64_t> found = {GoalOf(grid)};
  std::vector<bool> is_found(static_cast<size_t>(grid.width * grid.height));
  is_found.back() = true;
  for (size_t i = 0; i < found.size(); ++i) {
    for (int64_t action = 0; action < kNumActions; ++action) {
      const int64_t next = Move(grid, found[i], action);
      if (!is_found[static_cast<size_t>(next)]) {
        is_found[static_cast<size_t>(next)] = true;
        found.push_back(next);
      }
    }
  }
  found.erase(found.begin());
  return found;
}

}  // namespace

void GridWorldSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("width", &width, In(1, kMostSide));
  visitor.Int("height", &height, In(1, kMostSide));
  visitor.IntList("walls", &walls, In(0, kMostSide * kMostSide - 1));
  visitor.Double("slip", &slip, In(0, 1));
  visitor.Int("max_episode_steps", &max_episode_steps, In(1, kMostEpisodeSteps));
}

absl::Status GridWorldSettings::Validate() const {
  const int64_t goal = GoalOf(*this);
  for (const int64_t wall : walls) {
    if (wall >= goal) {
      return absl::InvalidArgumentError(
          absl::StrCat("walls: got ", wall, "; wanted cells before the goal, which is ", goal));
    }
  }
  if (CellsThatLeadToGoal(*this).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("walls: got no cell beside the goal, ", goal, ", that can be entered; wanted one"));
  }
  return absl::OkStatus();
}

EnvironmentSpec GridWorld::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "GridWorld-v0";
  spec.observations = {Discrete("observation", settings.width * settings.height),
                       MultiBinary("action_mask", {kNumActions})};
  spec.actions = {Discrete("action", kNumActions)};
  spec.max_episode_steps = settings.max_episode_steps;
  return spec;
}

GridWorld::GridWorld(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)),
      width_(settings.width),
      walls_(settings.walls),
      goal_(GoalOf(settings)),
      slip_(settings.slip),
      starts_(CellsThatLeadToGoal(settings)),
      exits_(static_cast<size_t>(goal_) + 1),
      rng_(seed) {
  for (int64_t cell = 0; cell <= goal_; ++cell) {
    for (int64_t action = 0; action < kNumActions; ++action) {
      exits_[static_cast<size_t>(cell)][static_cast<size_t>(action)] = Move(settings, cell, action);
    }
  }
}

void GridWorld::Start(absl::Span<void* const> observations) {
  cell_ = starts_[rng_.UniformInt(starts_.size())];
  Show(observations);
}

bool GridWorld::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  auto action = static_cast<size_t>(ElementAt<int64_t>(actions[0]));
  if (slip_ > 0 && rng_.Uniform() < slip_) {
    action = (action + (rng_.UniformInt(2) == 0 ? 1 : 3)) % kNumActions;
  }
  cell_ = exits_[static_cast<size_t>(cell_)][action];
  const bool at_goal = cell_ == goal_;
  rewards[0] = at_goal ? 1.0F : 0.0F;
  Show(observations);
  return at_goal;
}

void GridWorld::Show(absl::Span<void* const> observations) const {
  std::memcpy(observations[0], &cell_, sizeof(cell_));
  const Exits& exits = exits_[static_cast<size_t>(cell_)];
  for (size_t action = 0; action < exits.size(); ++action) {
    static_cast<uint8_t*>(observations[1])[action] = exits[action] != cell_ ? 1 : 0;
  }
}

absl::StatusOr<Picture> GridWorld::Draw() const {
  GridPicture grid((goal_ + 1) / width_, width_);
  for (const int64_t wall : walls_) {
    grid.FillCell(wall / width_, wall % width_, kInk);
  }
  grid.FillCell(goal_ / width_, goal_ % width_, kGreen);
  grid.DrawDot(cell_ / width_, cell_ % width_, kBlue);
  return grid.picture();
}

}  // namespace waggle
