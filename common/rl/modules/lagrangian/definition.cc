#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/rl/modules/definitions.h"
#include "common/rl/modules/lagrangian/lagrangian.h"

namespace waggle {
namespace {

// Items of a batch of the newest steps.
constexpr int64_t kMostSamples = 256;

// The number of which `weight` is the form.
double Inverse(const std::string& form, double weight) {
  return form == "exp" || weight > 30 ? (form == "exp" ? std::log(weight) : weight) : std::log(std::expm1(weight));
}

// The newest steps' rewards.
TablePlan NewestRewards(const LagrangianOptions& options, const ArraySpec& reward, const TableConfig& like) {
  TablePlan plan;
  plan.is_modules = true;
  plan.batch_size = std::min(options.window, kMostSamples);
  plan.window = {WindowPlan::Kind::kSequence, /*length=*/2, /*period=*/1};
  TableConfig& table = plan.table;
  table.name = kNewestRewards;
  table.signature = {reward};
  table.compression = like.compression;
  table.view = {{reward.name, reward.name, ViewField::Rows::kFirst}};
  table.max_items = options.window;
  table.max_bytes = like.max_bytes;
  table.max_window = plan.window.length;
  return plan;
}

absl::Status Check(const LagrangianOptions& options, const ArraySpec& reward) {
  if (reward.shape.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("type: got an environment with ", reward.DebugString(),
                                                   "; wanted one whose reward has several dimensions"));
  }
  Problems problems;
  problems.AddUnless(!options.bounds.empty(), "bounds: got none; wanted at least one");
  std::set<int64_t> dimensions;
  for (size_t i = 0; i < options.bounds.size(); ++i) {
    const int64_t dimension = options.bounds[i].dimension;
    problems.AddUnless(dimension < reward.shape[0], "bounds[", i, "].dimension: got ", dimension, "; wanted one of ",
                       reward.DebugString());
    problems.AddUnless(dimensions.insert(dimension).second, "bounds[", i, "].dimension: got ", dimension,
                       " a second time; wanted one bound for each dimension");
  }
  return problems.ToStatus();
}

absl::Status Extend(const LagrangianOptions& options, const PlanContext& context, AlgorithmPlan* plan) {
  const ArraySpec& reward = context.environment.rewards[0];
  WAGGLE_RETURN_IF_ERROR(Check(options, reward));
  for (const RewardBound& bound : options.bounds) {
    plan->scalars.push_back({bound.Name(), Inverse(options.form, bound.weight), options.optimizer});
  }
  if (options.rewards == "evaluations") {
    plan->reads_evaluations = true;
    return absl::OkStatus();
  }
  const WindowPlan::Kind kind = plan->tables[0].window.kind;
  if (kind == WindowPlan::Kind::kNStep || kind == WindowPlan::Kind::kSequence) {
    plan->tables.push_back(NewestRewards(options, reward, plan->tables[0].table));
  }
  return absl::OkStatus();
}

}  // namespace

void RewardBound::Visit(ConfigVisitor& visitor) {
  visitor.Int("dimension", &dimension, In(0, 65'535));
  visitor.Double("least", &least, In(-1e9, 1e9).Live());
  visitor.Double("weight", &weight, In(kLeastWeight, 1e6));
}

void LagrangianOptions::Visit(ConfigVisitor& visitor) {
  visitor.List("bounds", &bounds);
  visitor.Choice("rewards", &rewards, {"actors", "evaluations"});
  visitor.Choice("form", &form, {"softplus", "exp"});
  visitor.Double("largest_weight", &largest_weight, In(kLeastWeight, 1e6).Live());
  visitor.Bool("normalize", &normalize);
  if (visitor.Applies("window", rewards == "actors", "means nothing beside rewards: evaluations; wanted none")) {
    visitor.Int("window", &window, In(1, 1'000'000'000));
  }
  visitor.Section("optimizer", &optimizer);
}

absl::Status LagrangianOptions::Validate() const {
  Problems problems;
  for (size_t i = 0; i < bounds.size(); ++i) {
    problems.AddUnless(bounds[i].weight <= largest_weight, "bounds[", i, "].weight: got ", bounds[i].weight,
                       "; wanted at most largest_weight, ", largest_weight);
  }
  return problems.ToStatus();
}

ModuleDefinition lagrangian_module_definition() {
  return DefineModule("Weights of a vector reward's dimensions that hold bounds on their means", ModuleStage::kRewards,
                      Extend);
}

}  // namespace waggle
