#include "tests/conformance/expert.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace waggle::testing {
namespace {

constexpr double kRandomShare = 0.1;

// The goals that a row shows: of all choices, and then of all real elements.
struct Shown {
  std::vector<int64_t> choices;
  std::vector<float> places;
};

template <class Element>
const Element* RowOf(const EnvironmentSpec& spec, const PolicyInput& input, size_t leaf, int64_t row) {
  return static_cast<const Element*>(input.observations[leaf]) + row * spec.observations[leaf].array.NumElements();
}

int64_t Brightest(const uint8_t* pixels, int64_t count) {
  constexpr int64_t kPixelsAChoice = 4;
  return (std::max_element(pixels, pixels + count) - pixels) / kPixelsAChoice;
}

Shown GoalsOf(TinyKind kind, const EnvironmentSpec& spec, const PolicyInput& input, int64_t row) {
  Shown shown;
  if (kind == TinyKind::kImage) {
    shown.choices = {Brightest(RowOf<uint8_t>(spec, input, 0, row), spec.observations[0].array.NumElements())};
    return shown;
  }
  if (kind == TinyKind::kDict) {
    const bool is_first = RowOf<int64_t>(spec, input, 0, row)[0] == 1;
    const bool is_second = RowOf<int64_t>(spec, input, 1, row)[0] == 1;
    shown.choices = {is_first ? 0 : is_second ? 1 : 2};
    return shown;
  }
  const float* next = RowOf<float>(spec, input, 0, row);
  int64_t reals = 0;
  for (const SpaceLeaf& action : spec.actions) {
    const int64_t elements = action.array.NumElements();
    for (int64_t i = 0; i < elements && action.kind != SpaceKind::kBox; ++i) {
      const int64_t choices = action.kind == SpaceKind::kMultiBinary ? 2 : action.num_values[static_cast<size_t>(i)];
      shown.choices.push_back(std::max_element(next, next + choices) - next);
      next += choices;
    }
    reals += action.kind == SpaceKind::kBox ? elements : 0;
  }
  shown.places.assign(next, next + reals);
  return shown;
}

}  // namespace

ExpertPolicy::ExpertPolicy(TinyKind kind, EnvironmentSpec spec, int64_t lanes, uint64_t seed)
    : kind_(kind), spec_(std::move(spec)), rng_(seed), random_(spec_, lanes, Rng(seed + 1)) {}

absl::Status ExpertPolicy::Act(const PolicyInput& input, ActMode /*mode*/, PolicyOutput* output) {
  const absl::Span<const void* const> random = random_.Draw(input.rows(), input.observations);
  for (size_t leaf = 0; leaf < spec_.actions.size(); ++leaf) {
    const int64_t bytes = input.rows() * spec_.actions[leaf].array.NumBytes();
    std::memcpy(output->actions[leaf], random[leaf], static_cast<size_t>(bytes));
  }
  for (int64_t row = 0; row < input.rows(); ++row) {
    if (HasGoal(kind_) || rng_.Uniform(0, 1) < kRandomShare) {
      continue;
    }
    const Shown goals = GoalsOf(kind_, spec_, input, row);
    auto choice = goals.choices.begin();
    auto place = goals.places.begin();
    for (size_t leaf = 0; leaf < spec_.actions.size(); ++leaf) {
      const SpaceLeaf& action = spec_.actions[leaf];
      const int64_t first = row * action.array.NumElements();
      for (int64_t i = first; i < first + action.array.NumElements(); ++i) {
        if (action.kind == SpaceKind::kBox) {
          static_cast<float*>(output->actions[leaf])[i] = *place++;
        } else if (action.kind == SpaceKind::kMultiBinary) {
          static_cast<bool*>(output->actions[leaf])[i] = *choice++ == 1;
        } else {
          static_cast<int64_t*>(output->actions[leaf])[i] = *choice++;
        }
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle::testing
