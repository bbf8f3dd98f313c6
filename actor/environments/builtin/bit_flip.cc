#include "actor/environments/builtin/bit_flip.h"

#include <algorithm>

#include "actor/environments/element_access.h"
#include "actor/environments/pictures/grid_picture.h"

namespace waggle {
namespace {

constexpr int64_t kMostBits = 64;
constexpr int64_t kBitsInRow = 8;  // Bits in a row of the picture.

void WriteBits(uint64_t bits, int64_t count, void* leaf) {
  for (int64_t i = 0; i < count; ++i) {
    static_cast<uint8_t*>(leaf)[i] = static_cast<uint8_t>(bits >> i & 1);
  }
}

}  // namespace

void BitFlipSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("bits", &bits, In(1, kMostBits));
}

EnvironmentSpec BitFlip::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "BitFlip-v0";
  spec.observations = {MultiBinary("observation/observation", {settings.bits}),
                       MultiBinary("observation/achieved_goal", {settings.bits}),
                       MultiBinary("observation/desired_goal", {settings.bits})};
  spec.actions = {Discrete("action", settings.bits)};
  spec.max_episode_steps = settings.bits;
  return spec;
}

BitFlip::BitFlip(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)), num_bits_(settings.bits), rng_(seed) {}

void BitFlip::Start(absl::Span<void* const> observations) {
  do {
    bits_ = rng_.Next() >> (kMostBits - num_bits_);
    goal_ = rng_.Next() >> (kMostBits - num_bits_);
  } while (bits_ == goal_);
  Show(observations);
}

bool BitFlip::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  bits_ ^= uint64_t{1} << ElementAt<int64_t>(actions[0]);
  const bool reached = bits_ == goal_;
  rewards[0] = reached ? 0.0F : -1.0F;
  Show(observations);
  return reached;
}

void BitFlip::Show(absl::Span<void* const> observations) const {
  WriteBits(bits_, num_bits_, observations[0]);
  WriteBits(bits_, num_bits_, observations[1]);
  WriteBits(goal_, num_bits_, observations[2]);
}

absl::StatusOr<Picture> BitFlip::Draw() const {
  // A bit is a cell, and its goal the dot in it. The dot is invisible once they are equal.
  const int64_t columns = std::min(num_bits_, kBitsInRow);
  GridPicture grid((num_bits_ + columns - 1) / columns, columns);
  for (int64_t i = 0; i < num_bits_; ++i) {
    const auto color_of = [i](uint64_t bits) { return (bits >> i & 1) != 0 ? kBlue : kSoft; };
    grid.FillCell(i / columns, i % columns, color_of(bits_));
    grid.DrawDot(i / columns, i % columns, color_of(goal_));
  }
  return grid.picture();
}

}  // namespace waggle
