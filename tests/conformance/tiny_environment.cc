#include "tests/conformance/tiny_environment.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace waggle::testing {
namespace {

constexpr int64_t kChoices = 3;
constexpr int64_t kReals = 2;
constexpr int64_t kLongest = 6;  // Steps of a long episode.
constexpr int64_t kPixels = 12;  // Four for each choice.
// The largest distance of a real goal from 0.
constexpr double kFarthest = 0.8;
constexpr double kTolerance = 0.05;  // The largest distance of a goal that is reached.
// The sum of two variances, of uniform numbers in [-1, 1] and in [-0.8, 0.8].
constexpr double kRandomDistance = -(1 + kFarthest * kFarthest) / 3;

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
    case TinyKind::kDict:
      spec.observations = {Discrete("observation/is_first", 2), MultiDiscrete("observation/others/0", {2, kChoices}),
                           MultiBinary("observation/others/1", {2}), Box("observation/place", DType::kFloat32, {})};
      break;
    case TinyKind::kReals:
      spec.observations = {vector("observation", kReals + 1)};
      spec.actions = {Box("action/a", DType::kFloat32, {}, -2, 6), Box("action/b", DType::kFloat32, {1, 1}, -1, 1)};
      break;
    case TinyKind::kRewards:
      spec.observations = {vector("observation", kReals + 1)};
      spec.actions = {Box("action/a", DType::kFloat32, {}, -2, 6), Box("action/b", DType::kFloat32, {}, -1, 1)};
      spec.rewards = {ArraySpec{"reward", DType::kFloat32, {kReals}}};
      break;
    case TinyKind::kMixed:
      spec.observations = {vector("observation", kChoices + 2 + 1 + 1), MultiBinary("action_mask/gear", {kChoices})};
      spec.actions = {Discrete("action/gear", kChoices), Box("action/steer", DType::kFloat32, {}, -2, 6),
                      MultiBinary("action/lights", {1})};
      break;
    case TinyKind::kHybrid:
      spec.observations = {vector("observation", kChoices + 1 + 1), MultiBinary("action_mask/gear", {kChoices})};
      spec.actions = {Box("action/steer", DType::kFloat32, {}, -2, 6), Discrete("action/gear", kChoices)};
      break;
    case TinyKind::kAgents:
      spec.observations = {vector("agent_0/observation", kChoices + 1), vector("agent_1/observation", kChoices + 1)};
      spec.actions = {Discrete("agent_0/action", kChoices), Discrete("agent_1/action", kChoices)};
      spec.rewards = {ArraySpec{"agent_0/reward", DType::kFloat32, {}},
                      ArraySpec{"agent_1/reward", DType::kFloat32, {}}};
      break;
    case TinyKind::kRealAgents:
      spec.observations = {vector("a/observation", kReals + 1), vector("b/observation", 1 + 1)};
      spec.actions = {Box("a/action", DType::kFloat32, {kReals}, {-2, -1}, {6, 1}),
                      Box("b/action", DType::kFloat32, {}, -1, 1)};
      spec.rewards = {ArraySpec{"a/reward", DType::kFloat32, {}}, ArraySpec{"b/reward", DType::kFloat32, {}}};
      break;
    case TinyKind::kUnlikeAgents:
      spec.observations = {vector("a/observation", kChoices + 1), MultiBinary("a/action_mask", {kChoices}),
                           vector("b/observation", kReals + 1), vector("observation/weather", 1)};
      spec.actions = {Discrete("a/action", kChoices), Box("b/action", DType::kFloat32, {kReals}, -1, 1)};
      spec.rewards = {ArraySpec{"a/reward", DType::kFloat32, {}}, ArraySpec{"b/reward", DType::kFloat32, {}}};
      break;
    case TinyKind::kGoal:
    case TinyKind::kRealGoal: {
      const bool is_real = kind == TinyKind::kRealGoal;
      const int64_t size = is_real ? kReals : 1;
      spec.observations = {vector("observation/achieved_goal", size), vector("observation/desired_goal", size),
                           Discrete("observation/skill", kChoices)};
      spec.actions = is_real ? SpecOf(TinyKind::kReal).actions : spec.actions;
      spec.max_episode_steps = kLongest;
      break;
    }
  }
  return spec;
}

// The number of choices of each element; empty for real ones.
std::vector<int64_t> ChoicesOf(const SpaceLeaf& action) {
  return action.kind == SpaceKind::kMultiBinary
             ? std::vector<int64_t>(static_cast<size_t>(action.array.NumElements()), 2)
             : action.num_values;
}

int64_t ChoiceAt(const SpaceLeaf& action, const void* values, int64_t element) {
  return action.kind == SpaceKind::kMultiBinary ? static_cast<const bool*>(values)[element] ? 1 : 0
                                                : static_cast<const int64_t*>(values)[element];
}

}  // namespace

const std::vector<TinyKind>& TinyKinds() {
  static const auto* const kinds =
      new std::vector<TinyKind>{TinyKind::kDiscrete,      TinyKind::kReal,    TinyKind::kImage,  TinyKind::kMasked,
                                TinyKind::kMultiDiscrete, TinyKind::kDict,    TinyKind::kReals,  TinyKind::kMixed,
                                TinyKind::kHybrid,        TinyKind::kMemory,  TinyKind::kAgents, TinyKind::kRealAgents,
                                TinyKind::kUnlikeAgents,  TinyKind::kRewards, TinyKind::kGoal,   TinyKind::kRealGoal};
  return *kinds;
}

std::string Name(TinyKind kind) {
  static constexpr const char* kNames[] = {"TinyDiscrete",      "TinyReal",    "TinyImage",  "TinyMasked",
                                           "TinyMultiDiscrete", "TinyDict",    "TinyReals",  "TinyMixed",
                                           "TinyHybrid",        "TinyMemory",  "TinyAgents", "TinyRealAgents",
                                           "TinyUnlikeAgents",  "TinyRewards", "TinyGoal",   "TinyRealGoal"};
  return kNames[static_cast<size_t>(kind)];
}

bool HasGoal(TinyKind kind) {
  return kind == TinyKind::kGoal || kind == TinyKind::kRealGoal;
}

TinyEnvironment::TinyEnvironment(TinyKind kind, bool is_long, uint64_t seed)
    : kind_(kind), is_long_(is_long), spec_(SpecOf(kind)), rng_(seed) {
  for (const SpaceLeaf& action : spec_.actions) {
    goals_.resize(goals_.size() + ChoicesOf(action).size());
    places_.resize(places_.size() + (action.kind == SpaceKind::kBox ? action.array.NumElements() : 0));
  }
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
    case TinyKind::kReal:
    case TinyKind::kReals:
    case TinyKind::kRealAgents:
    case TinyKind::kRewards:
      return kRandomDistance;
    case TinyKind::kMixed:
      return (1.0 / (kChoices - 1) + 0.5 + kRandomDistance) / 3;
    case TinyKind::kHybrid:
    case TinyKind::kUnlikeAgents:
      return (1.0 / (kChoices - 1) + kRandomDistance) / 2;
    case TinyKind::kMasked:
      return 1.0 / (kChoices - 1);
    case TinyKind::kMultiDiscrete:
      return (1.0 / kChoices + 0.5) / 2;
    default:
      return 1.0 / kChoices;
  }
}

double TinyEnvironment::BestReward(TinyKind kind) {
  switch (kind) {
    case TinyKind::kReal:
    case TinyKind::kReals:
    case TinyKind::kRealAgents:
    case TinyKind::kRewards:
      return 0;
    case TinyKind::kMixed:
      return 2.0 / 3;
    case TinyKind::kHybrid:
    case TinyKind::kUnlikeAgents:
      return 0.5;
    default:
      return 1;
  }
}

absl::Status TinyEnvironment::Reset(absl::Span<void* const> observations) {
  step_ = 0;
  length_ = is_long_ ? 1 + static_cast<int64_t>(rng_.UniformInt(kLongest)) : kind_ == TinyKind::kMemory ? 2 : 1;
  terminates_ = !is_long_ || rng_.UniformInt(2) == 0;
  DrawGoal();
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
  size_t goal = 0;
  size_t place = 0;
  double total = 0;
  for (size_t leaf = 0; leaf < actions.size(); ++leaf) {
    const double sum = SumOf(spec_.actions[leaf], actions[leaf], &goal, &place);
    total += sum;
    if (HasAgents()) {
      rewards[leaf] = static_cast<float>(sum / static_cast<double>(spec_.actions[leaf].array.NumElements()));
    } else if (kind_ == TinyKind::kRewards) {
      rewards[leaf] = static_cast<float>(sum / static_cast<double>(actions.size()));
    }
  }
  if (HasGoal(kind_)) {
    rewards[0] = Achieve(actions[0]);
  } else if (!HasAgents() && kind_ != TinyKind::kRewards) {
    rewards[0] = static_cast<float>(total / static_cast<double>(goal + place));
  }
  ++step_;
  Write(observations);
  StepOutcome outcome;
  // Goals end no episode.
  const bool terminates = terminates_ && !(HasGoal(kind_) && rewards[0] == 0);
  outcome.terminated = step_ == length_ && terminates;
  outcome.truncated = step_ == length_ && !terminates;
  return outcome;
}

bool TinyEnvironment::IsMasked(const SpaceLeaf& action) const {
  return FindMaskOfAction(spec_, action) != nullptr;
}

absl::Status TinyEnvironment::CheckActions(absl::Span<const void* const> actions) const {
  for (size_t leaf = 0; leaf < actions.size(); ++leaf) {
    const SpaceLeaf& action = spec_.actions[leaf];
    const std::vector<int64_t> choices = ChoicesOf(action);
    for (int64_t i = 0; i < action.array.NumElements(); ++i) {
      bool right = false;
      if (action.kind == SpaceKind::kBox) {
        const auto value = static_cast<double>(static_cast<const float*>(actions[leaf])[i]);
        right = value >= action.Low(i) && value <= action.High(i);  // False for NaN.
      } else {
        const int64_t choice = ChoiceAt(action, actions[leaf], i);
        right = choice >= 0 && choice < choices[static_cast<size_t>(i)] && (!IsMasked(action) || choice != illegal_);
      }
      if (!right) {
        return absl::InvalidArgumentError("no such action");
      }
    }
  }
  return absl::OkStatus();
}

double TinyEnvironment::SumOf(const SpaceLeaf& leaf, const void* action, size_t* goal, size_t* place) const {
  double total = 0;
  for (int64_t i = 0; i < leaf.array.NumElements(); ++i) {
    if (leaf.kind == SpaceKind::kBox) {
      const double half = (leaf.High(i) - leaf.Low(i)) / 2;
      const double chosen = (static_cast<double>(static_cast<const float*>(action)[i]) - leaf.Low(i)) / half - 1;
      const double distance = chosen - places_[(*place)++];
      total -= distance * distance;
    } else {
      const bool remembers = kind_ == TinyKind::kMemory;
      const int64_t wanted = (remembers ? goals_before_ : goals_)[(*goal)++];
      total += ChoiceAt(leaf, action, i) == wanted && (!remembers || step_ > 0) ? 1 : 0;
    }
  }
  return total;
}

float TinyEnvironment::Achieve(const void* action) {
  double squares = 0;
  for (size_t i = 0; i < goal_.size(); ++i) {
    if (kind_ == TinyKind::kGoal) {
      achieved_[i] = static_cast<float>(ChoiceAt(spec_.actions[0], action, 0));
    } else {
      const auto element = static_cast<int64_t>(i);
      const double half = (spec_.actions[0].High(element) - spec_.actions[0].Low(element)) / 2;
      const double chosen = static_cast<double>(static_cast<const float*>(action)[i]);
      achieved_[i] = static_cast<float>((chosen - spec_.actions[0].Low(element)) / half - 1);
    }
    squares += std::pow(static_cast<double>(achieved_[i] - goal_[i]), 2);
  }
  return std::sqrt(squares) <= kTolerance ? 0.0F : -1.0F;
}

void TinyEnvironment::DrawGoal() {
  goal_.resize(kind_ == TinyKind::kRealGoal ? kReals : 1);
  for (float& number : goal_) {
    number = static_cast<float>(kind_ == TinyKind::kRealGoal ? rng_.Uniform(-kFarthest, kFarthest)
                                                             : static_cast<double>(rng_.UniformInt(kChoices)));
  }
  achieved_.assign(goal_.size(), 0);
  skill_ = static_cast<int64_t>(rng_.UniformInt(kChoices));
}

void TinyEnvironment::WriteGoal(absl::Span<void* const> observations) const {
  std::copy(achieved_.begin(), achieved_.end(), static_cast<float*>(observations[0]));
  std::copy(goal_.begin(), goal_.end(), static_cast<float*>(observations[1]));
  *static_cast<int64_t*>(observations[2]) = skill_;
}

void TinyEnvironment::DrawNext() {
  goals_before_ = goals_;
  size_t next = 0;
  for (const SpaceLeaf& action : spec_.actions) {
    for (const int64_t choices : ChoicesOf(action)) {
      goals_[next++] = static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(choices)));
    }
  }
  for (double& place : places_) {
    place = rng_.Uniform(-kFarthest, kFarthest);
  }
  if (std::any_of(spec_.observations.begin(), spec_.observations.end(), IsActionMask)) {
    illegal_ = (goals_[0] + 1 + static_cast<int64_t>(rng_.UniformInt(kChoices - 1))) % kChoices;
  }
}

// Two leaves together show whether the goal is the first, the second or neither; the others are noise.
void TinyEnvironment::WriteLeafOfDict(const SpaceLeaf& leaf, void* values) {
  if (leaf.kind == SpaceKind::kDiscrete) {
    *static_cast<int64_t*>(values) = goals_[0] == 0 ? 1 : 0;
  } else if (leaf.kind == SpaceKind::kMultiDiscrete) {
    static_cast<int64_t*>(values)[0] = goals_[0] == 1 ? 1 : 0;
    static_cast<int64_t*>(values)[1] = static_cast<int64_t>(rng_.UniformInt(kChoices));
  } else if (leaf.kind == SpaceKind::kMultiBinary) {
    for (int64_t i = 0; i < leaf.array.NumElements(); ++i) {
      static_cast<bool*>(values)[i] = rng_.UniformInt(2) == 0;
    }
  } else {
    *static_cast<float*>(values) = static_cast<float>(rng_.Uniform(-1, 1));
  }
}

// A one-hot vector of each goal of the leaf's agent, then its real goals, and last a meaningless number.
void TinyEnvironment::WriteVector(const SpaceLeaf& leaf, float* numbers) {
  const int64_t size = leaf.array.NumElements();
  std::fill_n(numbers, size, 0.0F);
  const auto agent = [](const SpaceLeaf& of) { return SplitLeafName(of.array.name)->agent; };
  std::vector<float> reals;
  size_t goal = 0;
  size_t place = 0;
  float* next = numbers;
  for (const SpaceLeaf& action : spec_.actions) {
    const bool is_shown = agent(action) == agent(leaf) && kind_ != TinyKind::kImage;
    for (const int64_t choices : ChoicesOf(action)) {
      if (is_shown) {
        next[goals_[goal]] = 1;
        next += choices;
      }
      ++goal;
    }
    for (int64_t i = 0; action.kind == SpaceKind::kBox && i < action.array.NumElements(); ++i, ++place) {
      if (is_shown) {
        reals.push_back(static_cast<float>(places_[place]));
      }
    }
  }
  std::copy(reals.begin(), reals.end(), next);
  numbers[size - 1] = static_cast<float>(rng_.Uniform(-1, 1));
}

void TinyEnvironment::Write(absl::Span<void* const> observations) {
  DrawNext();
  if (HasGoal(kind_)) {
    WriteGoal(observations);
    return;
  }
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
    } else if (kind_ == TinyKind::kDict) {
      WriteLeafOfDict(space, observations[leaf]);
    } else {
      WriteVector(space, static_cast<float*>(observations[leaf]));
    }
  }
}

}  // namespace waggle::testing
