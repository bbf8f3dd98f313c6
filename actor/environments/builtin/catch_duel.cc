#include "actor/environments/builtin/catch_duel.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "actor/environments/element_access.h"
#include "actor/environments/pictures/grid_picture.h"

namespace waggle {
namespace {

constexpr int64_t kMostDuelCells = 100;
constexpr int64_t kMostBalls = 1'000'000;

int64_t SignOf(int64_t number) {
  return (number > 0 ? 1 : 0) - (number < 0 ? 1 : 0);
}

bool HasTwoAgents(const CatchDuelSettings& settings) {
  return settings.opponent == "none";
}

}  // namespace

void CatchDuelSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("rows", &rows, In(2, kMostDuelCells));
  visitor.Int("columns", &columns, In(2, kMostDuelCells));
  visitor.Int("balls", &balls, In(1, kMostBalls));
  visitor.Choice("opponent", &opponent, {"none", "random", "scripted"});
}

EnvironmentSpec CatchDuel::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "CatchDuel-v0";
  spec.rewards.clear();
  const int64_t agents = HasTwoAgents(settings) ? 2 : 1;
  for (int64_t i = 0; i < agents; ++i) {
    const std::string agent = agents == 1 ? "" : absl::StrCat("agent_", i, "/");
    spec.observations.push_back(Box(agent + kObservationRoot, DType::kFloat32, {3 * settings.columns + 3}, -1, 1));
    spec.actions.push_back(Discrete(agent + kActionRoot, 3));
    spec.rewards.push_back(ArraySpec{agent + kRewardRoot, DType::kFloat32, {}});
  }
  return spec;
}

CatchDuel::CatchDuel(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)), settings_(settings), rng_(seed) {
  shown_.resize(static_cast<size_t>(3 * settings_.columns + 3));
}

void CatchDuel::Start(absl::Span<void* const> observations) {
  const int64_t margin = settings_.columns / 4;
  paddles_ = {margin, settings_.columns - 1 - margin};
  balls_left_ = settings_.balls;
  DropBall();
  Show(observations);
}

void CatchDuel::DropBall() {
  ball_row_ = 0;
  ball_column_ = static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(settings_.columns)));
  ball_drift_ = static_cast<int64_t>(rng_.UniformInt(3)) - 1;
}

int64_t CatchDuel::NextDrift() const {
  const int64_t column = ball_column_ + ball_drift_;
  return column < 0 || column >= settings_.columns ? -ball_drift_ : ball_drift_;
}

int64_t CatchDuel::OpponentMove() {
  return settings_.opponent == "random" ? static_cast<int64_t>(rng_.UniformInt(3)) - 1
                                        : SignOf(ball_column_ + NextDrift() - paddles_[1]);
}

bool CatchDuel::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  const int64_t left_move = ElementAt<int64_t>(actions[0]) - 1;
  const int64_t right_move = HasTwoAgents(settings_) ? 1 - ElementAt<int64_t>(actions[1]) : OpponentMove();
  const int64_t left = std::clamp<int64_t>(paddles_[0] + left_move, 0, settings_.columns - 1);
  const int64_t right = std::clamp<int64_t>(paddles_[1] + right_move, 0, settings_.columns - 1);
  if (left < right) {
    paddles_ = {left, right};
  }
  ball_drift_ = NextDrift();
  ball_column_ += ball_drift_;
  ++ball_row_;
  const bool landed = ball_row_ == settings_.rows - 1;
  const float reward = !landed ? 0.0F : ball_column_ == paddles_[0] ? 1.0F : ball_column_ == paddles_[1] ? -1.0F : 0.0F;
  rewards[0] = reward;
  if (HasTwoAgents(settings_)) {
    rewards[1] = 0.0F - reward;
  }
  balls_left_ -= landed ? 1 : 0;
  if (landed && balls_left_ > 0) {
    DropBall();
  }
  Show(observations);
  return balls_left_ == 0;
}

void CatchDuel::Show(absl::Span<void* const> observations) {
  const auto width = static_cast<size_t>(settings_.columns);
  for (size_t agent = 0; agent < observations.size(); ++agent) {
    const auto seen = [&](int64_t column) {
      return static_cast<size_t>(agent == 0 ? column : settings_.columns - 1 - column);
    };
    std::fill(shown_.begin(), shown_.end(), 0.0F);
    shown_[seen(paddles_[agent])] = 1;
    shown_[width + seen(paddles_[1 - agent])] = 1;
    shown_[2 * width + seen(ball_column_)] = 1;
    shown_[3 * width] = static_cast<float>(settings_.rows - 1 - ball_row_) / static_cast<float>(settings_.rows - 1);
    shown_[3 * width + 1] = static_cast<float>(agent == 0 ? ball_drift_ : 0 - ball_drift_);
    shown_[3 * width + 2] = static_cast<float>(balls_left_) / static_cast<float>(settings_.balls);
    std::memcpy(observations[agent], shown_.data(), shown_.size() * sizeof(float));
  }
}

absl::StatusOr<Picture> CatchDuel::Draw() const {
  GridPicture grid(settings_.rows, settings_.columns);
  grid.FillCell(settings_.rows - 1, paddles_[0], kBlue);
  grid.FillCell(settings_.rows - 1, paddles_[1], kGreen);
  grid.DrawDot(ball_row_, ball_column_, kOrange, 0.4);
  return grid.picture();
}

}  // namespace waggle
