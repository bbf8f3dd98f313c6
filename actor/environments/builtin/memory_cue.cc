#include "actor/environments/builtin/memory_cue.h"

#include <cmath>
#include <cstring>

#include "actor/environments/element_access.h"

namespace waggle {

void MemoryCueSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("length", &length, In(1, kMostEpisodeSteps));
  visitor.Int("cues", &cues, In(2, 1000));
}

EnvironmentSpec MemoryCue::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "MemoryCue-v0";
  spec.observations = {Box("observation", DType::kFloat32, {1 + settings.cues}, 0, 1)};
  spec.actions = {Discrete("action", settings.cues)};
  return spec;
}

MemoryCue::MemoryCue(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)),
      length_(settings.length),
      rng_(seed),
      shown_(1 + static_cast<size_t>(settings.cues)) {}

void MemoryCue::Start(absl::Span<void* const> observations) {
  shown_[1 + cue_] = 0;  // Clears the cue of an episode without a step.
  cue_ = static_cast<size_t>(rng_.UniformInt(shown_.size() - 1));
  Show(0, observations[0]);
}

bool MemoryCue::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  const bool is_last = steps() + 1 == length_;
  const bool is_right = static_cast<size_t>(ElementAt<int64_t>(actions[0])) == cue_;
  rewards[0] = !is_last ? 0.0F : is_right ? 1.0F : -1.0F;
  Show(steps() + 1, observations[0]);
  return is_last;
}

void MemoryCue::Show(int64_t steps, void* observation) {
  shown_[0] = static_cast<float>(1 - static_cast<double>(steps) / static_cast<double>(length_));
  shown_[1 + cue_] = steps == 0 ? 1.0F : 0.0F;
  std::memcpy(observation, shown_.data(), shown_.size() * sizeof(float));
}

absl::StatusOr<Picture> MemoryCue::Draw() const {
  // A cell is a cue, lit if it is shown. The line below is the share of remaining steps.
  const auto cues = static_cast<int64_t>(shown_.size()) - 1;
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(cues))));
  const int64_t rows = (cues + columns - 1) / columns;
  Picture picture({0, static_cast<double>(columns), -static_cast<double>(rows) - 1, 0}, absl::Milliseconds(200));
  for (int64_t i = 0; i < cues; ++i) {
    const PlanePoint center = {static_cast<double>(i % columns) + 0.5, -static_cast<double>(i / columns) - 0.5};
    picture.DrawDisc(center, 0.4, shown_[static_cast<size_t>(i) + 1] > 0 ? kOrange : kSoft);
  }
  const double y = -static_cast<double>(rows) - 0.5;
  picture.FillRectangle({0, y - 0.1}, {static_cast<double>(columns) * static_cast<double>(shown_[0]), y + 0.1}, kBlue);
  return picture;
}

}  // namespace waggle
