#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `environment.options` of Catch-v0.
struct CatchSettings {
  int64_t rows = 10;
  int64_t columns = 10;
  std::optional<int64_t> size;  // Height and width of the picture in pixels; none: a pixel for each cell.

  void Visit(ConfigVisitor& visitor);
  // INVALID_ARGUMENT if the picture has less than a pixel for each cell.
  absl::Status Validate() const;
};

// A ball falls by a row in each step, and a paddle in the last row must catch it: Catch-v0, bsuite's catch (arXiv
// 1908.03568) as a picture. Actions move the paddle to the left (0), not (1) or to the right (2). The ball lands after
// rows - 1 steps, which is terminal: the reward is 1 if it lands on the paddle, else -1. All rewards before are 0. The
// picture has one channel, [1, height, width]: 255 for ball and paddle, else 0. If there are more pixels than cells,
// each cell is a block of pixels, and blocks differ by at most a pixel in height and in width.
class CatchBall : public EpisodicEnvironment {
 public:
  using Settings = CatchSettings;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  CatchBall(const Settings& settings, uint64_t seed);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // The ball is in the first row, in a column that is uniform; the paddle is in the middle.
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;
  void Show(void* picture) const;
  void DrawCell(int64_t row, int64_t column, void* picture) const;

  const int64_t rows_;
  const int64_t columns_;
  const int64_t height_;
  const int64_t width_;
  Rng rng_;
  int64_t ball_row_ = 0;
  int64_t ball_column_ = 0;
  int64_t paddle_column_ = 0;
};

}  // namespace waggle
