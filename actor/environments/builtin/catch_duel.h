#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `environment.options` of CatchDuel-v0.
struct CatchDuelSettings {
  int64_t rows = 6;
  int64_t columns = 9;
  int64_t balls = 10;  // In an episode, one after the other.
  // none: two agents. random or scripted: one agent, and the environment moves the other paddle. A scripted paddle
  // moves to the column in which the ball will be after the step.
  std::string opponent = "none";

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Two paddles in the last row of one board compete for falling balls: CatchDuel-v0. In each step the ball falls by a
// row and drifts by -1, 0 or 1 columns; walls turn the drift around. After rows - 1 steps it lands. Then the paddle
// below it earns 1 and the other -1, and the next ball starts in the first row. Column and drift of a ball are uniform.
// The last ball's landing is terminal. Moves that would bring both paddles into one column or past each other are not
// made, so a paddle blocks the other.
//
// Actions move to the left (0), not (1) or to the right (2). Each agent sees the board so that its own paddle is on the
// left: the right one sees left and right swapped, also in its actions. The game is the same for both. An observation
// is float32[3 columns + 3]: the columns of its own paddle, of the other and of the ball, one-hot; the rows that the
// ball must fall / (rows - 1); the ball's drift; the balls that have not landed / balls.
class CatchDuel : public EpisodicEnvironment {
 public:
  using Settings = CatchDuelSettings;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  CatchDuel(const Settings& settings, uint64_t seed);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // The paddles are as far from the walls as from the middle.
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;
  void DropBall();
  // The change of the right paddle's column that the environment chooses.
  int64_t OpponentMove();
  // The ball's drift in the next step.
  int64_t NextDrift() const;
  // Writes each agent's observation.
  void Show(absl::Span<void* const> observations);

  const Settings settings_;
  Rng rng_;
  std::array<int64_t, 2> paddles_ = {};  // Columns; the first is less.
  int64_t ball_row_ = 0;
  int64_t ball_column_ = 0;
  int64_t ball_drift_ = 0;
  int64_t balls_left_ = 0;
  std::vector<float> shown_;  // The observation of one agent.
};

}  // namespace waggle
