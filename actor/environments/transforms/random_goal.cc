#include "actor/environments/transforms/random_goal.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/config/spec/leaf_name.h"

namespace waggle {
namespace {

constexpr double kFarthest = 1e6;

LeafArrays NewGoals(const EnvironmentSpec& spec, int64_t lanes) {
  return LeafArrays({spec.observations.back().array}, lanes);
}

}  // namespace

void RandomGoalSettings::Visit(ConfigVisitor& visitor) {
  visitor.String("as", &as);
  visitor.Int("choices", &choices, In(0, 65'536));
  const auto applies = [&](const char* key) {
    return visitor.Applies(key, choices == 0, "means nothing beside choices; wanted none, or choices: 0");
  };
  if (applies("size")) {
    visitor.Int("size", &size, In(1, 65'536));
  }
  if (applies("min")) {
    visitor.Double("min", &min, In(-kFarthest, kFarthest));
  }
  if (applies("max")) {
    visitor.Double("max", &max, In(-kFarthest, kFarthest));
  }
}

absl::Status RandomGoalSettings::Validate() const {
  Problems problems;
  problems.AddUnless(SplitLeafName(absl::StrCat(kObservationRoot, "/", as)).ok() && !as.empty(), "as: got ", as,
                     "; wanted the path of a leaf, of letters, digits, _, -, . and /");
  problems.AddUnless(choices != 1, "choices: got 1; wanted 0, or at least 2");
  problems.AddUnless(min < max, "max: got ", max, "; wanted more than min, ", min);
  return problems.ToStatus();
}

absl::Status RandomGoal::Change(const Settings& settings, TransformedSpec* spec) {
  std::vector<SpaceLeaf>& leaves = spec->spec.observations;
  for (SpaceLeaf& leaf : leaves) {
    WAGGLE_ASSIGN_OR_RETURN(LeafName name, SplitLeafName(leaf.array.name));
    if (!name.agent.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("got the observation ", leaf.array.name, " of an agent; wanted an environment without agents"));
    }
    if (name.path.empty() && !IsActionMask(leaf)) {
      name.path = kObservationRoot;
      leaf.array.name = name.Join();
    }
  }
  const std::string goal = absl::StrCat(kObservationRoot, "/", settings.as);
  leaves.push_back(settings.choices > 0 ? Discrete(goal, settings.choices)
                                        : Box(goal, DType::kFloat32, {settings.size}, settings.min, settings.max));
  return absl::OkStatus();
}

RandomGoal::RandomGoal(const Settings& settings, TransformParts parts)
    : EnvironmentTransform(std::move(parts)),
      settings_(settings),
      rngs_(LaneRngs()),
      goals_(NewGoals(spec(), lanes())),
      shown_{NewGoals(spec(), lanes()), NewGoals(spec(), lanes())} {}

void RandomGoal::DrawGoal(size_t row) {
  if (settings_.choices > 0) {
    static_cast<int64_t*>(goals_.pointers()[0])[row] =
        static_cast<int64_t>(rngs_[row].UniformInt(static_cast<uint64_t>(settings_.choices)));
    return;
  }
  float* const goal = static_cast<float*>(goals_.pointers()[0]) + row * static_cast<size_t>(settings_.size);
  for (int64_t i = 0; i < settings_.size; ++i) {
    goal[i] = static_cast<float>(rngs_[row].Uniform(settings_.min, settings_.max));
  }
}

absl::StatusOr<ReadyLanes> RandomGoal::Recv(int64_t at_least, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(ReadyLanes ready, inner().Recv(at_least, stop));
  current_ = 1 - current_;
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    const auto lane = static_cast<size_t>(ready.lanes[row]);
    if (ready.first[row] != 0) {
      DrawGoal(lane);
    }
    shown_[current_].CopyRow(goals_.pointers(), lane, row);
  }
  pointers_[current_].assign(ready.observations.begin(), ready.observations.end());
  pointers_[current_].push_back(shown_[current_].pointers()[0]);
  ready.observations = pointers_[current_];
  return ready;
}

}  // namespace waggle
