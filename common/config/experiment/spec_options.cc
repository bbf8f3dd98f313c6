#include "common/config/experiment/spec_options.h"

#include "absl/strings/str_cat.h"
#include "common/base/problems.h"
#include "common/config/experiment/visit_name.h"

namespace waggle {
namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 40;
constexpr double kMaxBound = 1e9;

bool HasChoices(SpaceKind kind) {
  return kind == SpaceKind::kDiscrete || kind == SpaceKind::kMultiDiscrete;
}

}  // namespace

void LeafOptions::Visit(ConfigVisitor& visitor) {
  visitor.String("name", &name);
  VisitName("kind", &kind, {SpaceKind::kBox, SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kMultiBinary},
            &visitor);
  if (HasChoices(kind)) {
    visitor.IntList("num_values", &num_values, In(1, static_cast<double>(kMaxNumValues)));
    return;
  }
  visitor.IntList("shape", &shape, In(1, kMaxDimension));
  if (kind == SpaceKind::kBox) {
    visitor.Choice("dtype", &dtype, {"uint8", "int8", "int16", "int32", "float32", "float64"});
    visitor.OptionalDouble("low", &low, In(-kMaxBound, kMaxBound));
    visitor.OptionalDouble("high", &high, In(-kMaxBound, kMaxBound));
  }
}

absl::Status LeafOptions::Validate() const {
  Problems problems;
  problems.AddUnless(low.has_value() == high.has_value(), low.has_value() ? "high" : "low",
                     ": is missing; wanted both bounds or none");
  problems.AddUnless(kind != SpaceKind::kDiscrete || num_values.size() == 1, "num_values: has ", num_values.size(),
                     " entries; wanted one, the number of choices");
  return problems.ToStatus();
}

SpaceLeaf LeafOptions::Leaf() const {
  SpaceLeaf leaf;
  switch (kind) {
    case SpaceKind::kDiscrete:
      leaf = Discrete(name, num_values.empty() ? 0 : num_values[0]);
      break;
    case SpaceKind::kMultiDiscrete:
      leaf = MultiDiscrete(name, num_values);
      break;
    case SpaceKind::kMultiBinary:
      leaf = MultiBinary(name, shape);
      break;
    case SpaceKind::kBox:
      leaf = Box(name, ParseDType(dtype).value_or(DType::kFloat32), shape);
      break;
  }
  if (low.has_value() && high.has_value()) {
    leaf.low = {*low};
    leaf.high = {*high};
  }
  return leaf;
}

void RewardOptions::Visit(ConfigVisitor& visitor) {
  visitor.String("name", &name);
  visitor.IntList("shape", &shape, In(1, kMaxDimension));
}

void SpecOptions::Visit(ConfigVisitor& visitor) {
  visitor.List("observations", &observations);
  visitor.List("actions", &actions);
  visitor.List("rewards", &rewards);
  visitor.Int("max_episode_steps", &max_episode_steps, In(1, 1e12));
}

EnvironmentSpec SpecOptions::Spec() const {
  EnvironmentSpec spec;
  spec.name = kNullEnvironment;
  for (const LeafOptions& leaf : observations) {
    spec.observations.push_back(leaf.Leaf());
  }
  for (const LeafOptions& leaf : actions) {
    spec.actions.push_back(leaf.Leaf());
  }
  spec.rewards.clear();
  for (const RewardOptions& reward : rewards) {
    spec.rewards.push_back(ArraySpec{reward.name, DType::kFloat32, reward.shape});
  }
  spec.max_episode_steps = max_episode_steps;
  return spec;
}

}  // namespace waggle
