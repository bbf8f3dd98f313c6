#include "tests/conformance/tiny_environment.h"

#include <algorithm>
#include <memory>

namespace waggle::testing {
namespace {

constexpr int64_t kChoices = 3;
constexpr int64_t kReals = 2;
constexpr int64_t kPixels = 12;  // Four for each choice.
// A real goal's distance from 0, at most.
constexpr double kFarthest = 0.8;

EnvironmentSpec SpecOf(TinyKind kind) {
  const auto vector = [](const char* name, int64_t size) { return Box(name, DType::kFloat32, {size}); };
  EnvironmentSpec spec;
  spec.name = Name(kind);
  spec.observations = {vector("observation", kChoices + 1)};
  spec.actions = {Discrete("action", kChoices)};
  switch (kind) {
    case TinyKind::kDiscrete:
    case TinyKind::kMemory:
      break;
    case TinyKind::kReal:
      spec.observations = {vector("observation", kReals + 1)};
      spec.actions = {Box("action", DType::kFloat32, {kReals}, {-2, -1}, {6, 1})};
      break;
    case TinyKind::kImage:
      spec.observations = {Box("observation/camera", DType::kUint8, {1, kChoices, kPixels / kChoices}, 0, 255),
                           vector("observation/place", 1)};
      break;
    case TinyKind::kMasked:
      spec.observations.push_back(MultiBinary("action_mask", {kChoices}));
      break;
    case TinyKind::kMultiDiscrete:
      spec.observations = {vector("observation", kChoices + 2 + 1)};
      spec.actions = {MultiDiscrete("action", {kChoices, 2})};
      break;
    case TinyKind::kAgents:
      spec.observations = {vector("agent_0/observation", kChoices + 1), vector("agent_1/observation", kChoices + 1)};
      spec.actions = {Discrete("agent_0/action", kChoices), Discrete("agent_1/action", kChoices)};
      spec.rewards = {ArraySpec{"agent_0/reward", DType::kFloat32, {}},
                      ArraySpec{"agent_1/reward", DType::kFloat32, {}}};
      break;
  }
  return spec;
}

}  // namespace

const std::vector<TinyKind>& TinyKinds() {
  static const auto* const kinds =
      new std::vector<TinyKind>{TinyKind::kDiscrete,      TinyKind::kReal,   TinyKind::kImage, TinyKind::kMasked,
                                TinyKind::kMultiDiscrete, TinyKind::kMemory, TinyKind::kAgents};
  return *kinds;
}

std::string Name(TinyKind kind) {
  static constexpr const char* kNames[] = {"TinyDiscrete",      "TinyReal",   "TinyImage", "TinyMasked",
                                           "TinyMultiDiscrete", "TinyMemory", "TinyAgents"};
  return kNames[static_cast<size_t>(kind)];
}

TinyEnvironment::TinyEnvironment(TinyKind kind, bool is_long, uint64_t seed)
    : kind_(kind), is_long_(is_long), spec_(SpecOf(kind)), rng_(seed) {
  for (const SpaceLeaf& action : spec_.actions) {
    goals_.resize(goals_.size() + action.num_values.size());
  }
  places_.resize(kind == TinyKind::kReal ? kReals : 0);
}

EnvironmentDefinition TinyEnvironment::Definition(TinyKind kind, bool is_long) {
  EnvironmentDefinition definition;
  definition.description = "The identity task";
  definition.spec = [kind](const EnvironmentOptions&) { return SpecOf(kind); };
  definition.create = [=](const EnvironmentOptions&, uint64_t seed) -> absl::StatusOr<std::unique_ptr<Environment>> {
    return std::make_unique<TinyEnvironment>(kind, is_long, seed);
  };
  return definition;
}

double TinyEnvironment::RandomReward(TinyKind kind) {
  switch (kind) {
    case TinyKind::kReal:  // Two variances, of uniform numbers in [-1, 1] and [-0.8, 0.8].
      return -(1 + kFarthest * kFarthest) / 3;
    case TinyKind::kMasked:
      return 1.0 / (kChoices - 1);
    case TinyKind::kMultiDiscrete:
      return (1.0 / kChoices + 0.5) / 2;
    default:
      return 1.0 / kChoices;
  }
}

double TinyEnvironment::BestReward(TinyKind kind) {
  return kind == TinyKind::kReal ? 0 : 1;
}

absl::Status TinyEnvironment::Reset(absl::Span<void* const> observations) {
  step_ = 0;
  length_ = is_long_ ? 1 + static_cast<int64_t>(rng_.UniformInt(6)) : kind_ == TinyKind::kMemory ? 2 : 1;
  terminates_ = !is_long_ || rng_.UniformInt(2) == 0;
  Write(observations);
  return absl::OkStatus();
}

absl::StatusOr<StepOutcome> TinyEnvironment::Step(absl::Span<const void* const> actions,
                                                  absl::Span<void* const> observations, float* rewards) {
  if (step_ >= length_) {
    return absl::FailedPreconditionError("the episode is over");
  }
  if (const absl::Status checked = CheckActions(actions); !checked.ok()) {
    return checked;
  }
  for (size_t leaf = 0; leaf < actions.size(); ++leaf) {
    rewards[leaf] = static_cast<float>(RewardOf(leaf, actions[leaf]));
  }
  ++step_;
  Write(observations);
  StepOutcome outcome;
  outcome.terminated = step_ == length_ && terminates_;
  outcome.truncated = step_ == length_ && !terminates_;
  return outcome;
}

absl::Status TinyEnvironment::CheckActions(absl::Span<const void* const> actions) const {
  for (size_t leaf = 0; leaf < actions.size(); ++leaf) {
    const SpaceLeaf& action = spec_.actions[leaf];
    for (int64_t i = 0; i < action.array.NumElements(); ++i) {
      bool right = false;
      if (kind_ == TinyKind::kReal) {
        const auto value = static_cast<double>(static_cast<const float*>(actions[leaf])[i]);
        right = value >= action.Low(i) && value <= action.High(i);  // False for NaN.
      } else {
        const int64_t choice = static_cast<const int64_t*>(actions[leaf])[i];
        right = choice >= 0 && choice < action.num_values[static_cast<size_t>(i)] &&
                (kind_ != TinyKind::kMasked || choice != illegal_);
      }
      if (!right) {
        return absl::InvalidArgumentError("no such action");
      }
    }
  }
  return absl::OkStatus();
}

double TinyEnvironment::RewardOf(size_t leaf, const void* action) const {
  if (kind_ == TinyKind::kMemory) {
    return step_ > 0 && *static_cast<const int64_t*>(action) == goals_before_[leaf] ? 1 : 0;
  }
  const SpaceLeaf& space = spec_.actions[leaf];
  const int64_t elements = space.array.NumElements();
  double total = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const auto index = static_cast<size_t>(i);
    if (kind_ == TinyKind::kReal) {
      const double half = (space.High(i) - space.Low(i)) / 2;
      const double chosen = (static_cast<double>(static_cast<const float*>(action)[i]) - space.Low(i)) / half - 1;
      total -= (chosen - places_[index]) * (chosen - places_[index]);
    } else {
      total += static_cast<const int64_t*>(action)[i] == goals_[leaf + index] ? 1 : 0;
    }
  }
  return total / static_cast<double>(elements);
}

void TinyEnvironment::Draw() {
  goals_before_ = goals_;
  size_t next = 0;
  for (const SpaceLeaf& action : spec_.actions) {
    for (const int64_t choices : action.num_values) {
      goals_[next++] = static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(choices)));
    }
  }
  for (double& place : places_) {
    place = rng_.Uniform(-kFarthest, kFarthest);
  }
  if (kind_ == TinyKind::kMasked) {
    illegal_ = (goals_[0] + 1 + static_cast<int64_t>(rng_.UniformInt(kChoices - 1))) % kChoices;
  }
}

void TinyEnvironment::Write(absl::Span<void* const> observations) {
  Draw();
  size_t next = 0;  // Of the goals.
  for (size_t leaf = 0; leaf < spec_.observations.size(); ++leaf) {
    const SpaceLeaf& space = spec_.observations[leaf];
    if (space.array.dtype == DType::kUint8) {
      auto* const pixels = static_cast<uint8_t*>(observations[leaf]);
      for (int64_t i = 0; i < kPixels; ++i) {
        pixels[i] = i / (kPixels / kChoices) == goals_[0] ? 255 : static_cast<uint8_t>(rng_.UniformInt(32));
      }
    } else if (IsActionMask(space)) {
      for (int64_t i = 0; i < kChoices; ++i) {
        static_cast<bool*>(observations[leaf])[i] = i != illegal_;
      }
    } else {
      auto* const numbers = static_cast<float*>(observations[leaf]);
      const int64_t size = space.array.NumElements();
      std::fill_n(numbers, size, 0.0F);
      if (kind_ == TinyKind::kReal) {
        std::copy(places_.begin(), places_.end(), numbers);
      } else if (kind_ == TinyKind::kAgents) {
        numbers[goals_[next++]] = 1;
      } else if (kind_ != TinyKind::kImage) {
        numbers[goals_[0]] = 1;
        if (kind_ == TinyKind::kMultiDiscrete) {
          numbers[kChoices + goals_[1]] = 1;
        }
      }
      numbers[size - 1] = static_cast<float>(rng_.Uniform(-1, 1));
    }
  }
}

}  // namespace waggle::testing
