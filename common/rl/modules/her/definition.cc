#include "common/rl/modules/intrinsic/definition.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/rl/modules/definitions.h"
#include "common/rl/modules/her/her.h"

namespace waggle {
namespace {

const SpaceLeaf* FindLeaf(const EnvironmentSpec& environment, const std::string& name) {
  const auto found = std::find_if(environment.observations.begin(), environment.observations.end(),
                                  [&name](const SpaceLeaf& leaf) { return leaf.array.name == name; });
  return found == environment.observations.end() ? nullptr : &*found;
}

FutureRow RowOf(const std::string& strategy) {
  return strategy == "future" ? FutureRow::kLater : strategy == "final" ? FutureRow::kLast : FutureRow::kEpisode;
}

absl::Status CheckLeaves(const HerOptions& options, const EnvironmentSpec& environment) {
  const std::string known = absl::StrJoin(environment.observations, ", ",
                                          [](std::string* text, const SpaceLeaf& leaf) { *text += leaf.array.name; });
  Problems problems;
  const SpaceLeaf* const goal = FindLeaf(environment, options.goal);
  const SpaceLeaf* const achieved = FindLeaf(environment, options.achieved);
  problems.AddUnless(goal != nullptr, "goal: got ", options.goal, "; wanted an observation of ", environment.name, ": ",
                     known);
  problems.AddUnless(options.goal != options.achieved, "achieved: got ", options.achieved,
                     ", the goal itself; wanted another leaf");
  problems.AddUnless(achieved != nullptr, "achieved: got ", options.achieved, "; wanted an observation of ",
                     environment.name, ": ", known);
  if (goal != nullptr && achieved != nullptr) {
    problems.AddUnless(goal->array.dtype == achieved->array.dtype && goal->array.shape == achieved->array.shape,
                       "achieved: got ", achieved->array.DebugString(), "; wanted the form of the goal, ",
                       goal->array.DebugString());
  }
  return problems.ToStatus();
}

absl::Status Extend(const HerOptions& options, const PlanContext& context, AlgorithmPlan* plan) {
  const EnvironmentSpec& environment = context.environment;
  WAGGLE_RETURN_IF_ERROR(CheckScalarReward(context));
  WAGGLE_RETURN_IF_ERROR(CheckLeaves(options, environment));
  const int64_t horizon = options.horizon.value_or(environment.max_episode_steps);
  Problems problems;
  problems.AddUnless(horizon > 0, "horizon: got none, and episodes of ", environment.name,
                     " have no limit; wanted the steps after which no later goal is taken");
  problems.AddUnless(options.strategy != "episode" || horizon <= kMaxContextRows, "horizon: got ", horizon,
                     "; wanted at most ", kMaxContextRows, " beside strategy: episode");
  for (TablePlan& table : plan->tables) {
    if (table.window.kind != WindowPlan::Kind::kNStep) {
      problems.AddUnless(false, "type: got her, and the algorithm learns from ", table.table.name,
                         "; wanted an algorithm that learns from transitions");
      continue;
    }
    problems.AddUnless(horizon == 0 || horizon >= table.window.length - 1, "horizon: got ", horizon,
                       "; wanted at least the transition's ", table.window.length - 1, " steps");
    TableConfig& config = table.table;
    config.transition_rows = table.window.length;
    table.window.length = horizon + 1;
    config.max_window = table.window.length;
    config.future_row = RowOf(options.strategy);
    config.view.push_back({kOtherGoal, options.achieved, ViewField::Rows::kFuture});
  }
  WAGGLE_RETURN_IF_ERROR(problems.ToStatus());
  ShowAllRows({*FindLeaf(environment, options.achieved)}, plan);
  return absl::OkStatus();
}

}  // namespace

void HerOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("share", &share, In(0, 1).Live());
  visitor.Choice("strategy", &strategy, {"future", "final", "episode"});
  visitor.String("goal", &goal);
  visitor.String("achieved", &achieved);
  visitor.Double("tolerance", &tolerance, In(0, 1e6));
  visitor.Double("success_reward", &success_reward, In(-1e6, 1e6));
  visitor.Double("failure_reward", &failure_reward, In(-1e6, 1e6));
  visitor.Bool("terminates", &terminates);
  visitor.OptionalInt("horizon", &horizon, In(1, 1e6));
}

absl::Status HerOptions::Validate() const {
  return success_reward == failure_reward
             ? absl::InvalidArgumentError(
                   absl::StrCat("success_reward: got ", success_reward, "; wanted another one than failure_reward"))
             : absl::OkStatus();
}

ModuleDefinition her_module_definition() {
  return DefineModule("Goals that an episode achieved in place of its own (hindsight experience replay)",
                      ModuleStage::kGoals, Extend);
}

}  // namespace waggle
