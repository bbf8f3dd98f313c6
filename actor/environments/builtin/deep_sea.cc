#include "actor/environments/builtin/deep_sea.h"

#include <algorithm>
#include <cstring>

#include "actor/environments/element_access.h"
#include "actor/environments/pictures/grid_picture.h"
#include "common/base/random.h"

namespace waggle {
namespace {

constexpr double kMoveCost = 0.01;  // The cost of `size` moves to the right.

}  // namespace

void DeepSeaSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("size", &size, In(2, 100));
  visitor.Bool("randomize_actions", &randomize_actions);
  if (visitor.Applies("seed_of_map", randomize_actions, "means nothing beside randomize_actions: false; wanted none")) {
    visitor.Int("seed_of_map", &seed_of_map, In(0, 0x1p53));
  }
}

EnvironmentSpec DeepSea::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "DeepSea-v0";
  spec.observations = {Box("observation", DType::kFloat32, {settings.size * settings.size}, 0, 1)};
  spec.actions = {Discrete("action", 2)};
  return spec;
}

DeepSea::DeepSea(const Settings& settings, uint64_t /*seed*/)
    : EpisodicEnvironment(Spec(settings)),
      size_(settings.size),
      right_(static_cast<size_t>(settings.size * settings.size), 1) {
  if (settings.randomize_actions) {
    Rng rng(static_cast<uint64_t>(settings.seed_of_map));
    for (int8_t& action : right_) {
      action = static_cast<int8_t>(rng.UniformInt(2));
    }
  }
}

void DeepSea::Start(absl::Span<void* const> observations) {
  row_ = 0;
  column_ = 0;
  Show(observations[0]);
}

bool DeepSea::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  const bool goes_right = ElementAt<int64_t>(actions[0]) == right_[static_cast<size_t>(Cell())];
  const double treasure = goes_right && column_ == size_ - 1 ? 1 : 0;
  rewards[0] = static_cast<float>(goes_right ? treasure - kMoveCost / static_cast<double>(size_) : 0);
  column_ = goes_right ? std::min(column_ + 1, size_ - 1) : std::max(column_ - 1, int64_t{0});
  ++row_;
  Show(observations[0]);
  return row_ == size_;
}

void DeepSea::Show(void* observation) const {
  std::memset(observation, 0, right_.size() * sizeof(float));
  if (row_ < size_) {
    constexpr float kHere = 1;
    std::memcpy(static_cast<char*>(observation) + static_cast<size_t>(Cell()) * sizeof(kHere), &kHere, sizeof(kHere));
  }
}

absl::StatusOr<Picture> DeepSea::Draw() const {
  GridPicture grid(size_ + 1, size_);  // The last row is the ground, where the diver ends.
  for (int64_t column = 0; column < size_; ++column) {
    grid.FillCell(size_, column, kSoft);
  }
  grid.DrawDot(size_ - 1, size_ - 1, kOrange, 0.25);
  grid.DrawDot(row_, column_, kBlue, 0.4);
  return grid.picture();
}

}  // namespace waggle
