#include "actor/environments/builtin/catch_ball.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "actor/environments/element_access.h"
#include "actor/environments/pictures/grid_picture.h"

namespace waggle {
namespace {

constexpr double kMostCells = 100;
constexpr double kMostPixels = 1000;

// The first of `pixels` pixels that shows cell `cell` of `cells`.
int64_t FirstPixel(int64_t cell, int64_t cells, int64_t pixels) {
  return cell * pixels / cells;
}

}  // namespace

void CatchSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("rows", &rows, In(2, kMostCells));
  visitor.Int("columns", &columns, In(2, kMostCells));
  visitor.OptionalInt("size", &size, In(2, kMostPixels));
}

absl::Status CatchSettings::Validate() const {
  const int64_t least = std::max(rows, columns);
  if (size.value_or(least) < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("size: got ", *size, "; wanted ", least, " or more, a pixel for each row and each column"));
  }
  return absl::OkStatus();
}

EnvironmentSpec CatchBall::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "Catch-v0";
  spec.observations = {Box("observation", DType::kUint8,
                           {1, settings.size.value_or(settings.rows), settings.size.value_or(settings.columns)}, 0,
                           255)};
  spec.actions = {Discrete("action", 3)};
  return spec;
}

CatchBall::CatchBall(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)),
      rows_(settings.rows),
      columns_(settings.columns),
      height_(settings.size.value_or(settings.rows)),
      width_(settings.size.value_or(settings.columns)),
      rng_(seed) {}

void CatchBall::Start(absl::Span<void* const> observations) {
  ball_row_ = 0;
  ball_column_ = static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(columns_)));
  paddle_column_ = columns_ / 2;
  Show(observations[0]);
}

bool CatchBall::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  paddle_column_ = std::clamp(paddle_column_ + ElementAt<int64_t>(actions[0]) - 1, int64_t{0}, columns_ - 1);
  ++ball_row_;
  const bool landed = ball_row_ == rows_ - 1;
  rewards[0] = !landed ? 0.0F : paddle_column_ == ball_column_ ? 1.0F : -1.0F;
  Show(observations[0]);
  return landed;
}

void CatchBall::Show(void* picture) const {
  std::memset(picture, 0, static_cast<size_t>(height_ * width_));
  DrawCell(ball_row_, ball_column_, picture);
  DrawCell(rows_ - 1, paddle_column_, picture);
}

void CatchBall::DrawCell(int64_t row, int64_t column, void* picture) const {
  const int64_t left = FirstPixel(column, columns_, width_);
  const int64_t right = FirstPixel(column + 1, columns_, width_);
  const int64_t bottom = FirstPixel(row + 1, rows_, height_);
  for (int64_t y = FirstPixel(row, rows_, height_); y < bottom; ++y) {
    std::memset(static_cast<char*>(picture) + y * width_ + left, 255, static_cast<size_t>(right - left));
  }
}

absl::StatusOr<Picture> CatchBall::Draw() const {
  GridPicture grid(rows_, columns_);
  grid.FillCell(rows_ - 1, paddle_column_, kBlue);
  grid.DrawDot(ball_row_, ball_column_, kOrange, 0.4);
  return grid.picture();
}

}  // namespace waggle
