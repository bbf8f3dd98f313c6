#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/config/experiment/table_plans.h"
#include "common/config/table/batch_layout.h"
#include "common/rl/modules/her/her.h"
#include "common/rl/modules/implementations.h"
#include "common/rl/modules/intrinsic/steps.h"

namespace waggle {
namespace {

using torch::Tensor;

// Updates whose rewards are compared with the rule. A wrong rule fails at once.
constexpr int64_t kCheckedUpdates = 10;

// `values` [rows, …] where `chosen` [rows] is true, else `others`.
Tensor Where(Tensor chosen, const Tensor& values, const Tensor& others) {
  while (chosen.dim() < values.dim()) {
    chosen = chosen.unsqueeze(-1);
  }
  return torch::where(chosen, values, others);
}

class Her : public Module {
 public:
  Her(const HerOptions& options, Model* /*model*/) : options_(options) {}

  void Rewrite(const EnvironmentSpec& environment, TableBatches* batches, UpdateContext* context) override {
    for (auto& [table, batch] : *batches) {
      if (checked_ < kCheckedUpdates) {
        Check(environment, batch, context);
      }
      Relabel(environment, &batch, context);
    }
    checked_ = std::min(checked_ + 1, kCheckedUpdates);
  }

  void VisitState(StateVisitor* visitor) override { visitor->Int("checked", &checked_); }

 private:
  // [rows, steps], bool: the step reaches the goal, [rows, …].
  Tensor Reaches(const TensorBatch& batch, const Tensor& goal) const {
    const Tensor achieved = AllRows(batch, options_.achieved);
    const int64_t steps = achieved.size(1) - 1;
    const Tensor difference = achieved.narrow(1, 1, steps).to(torch::kFloat32) - goal.unsqueeze(1).to(torch::kFloat32);
    return difference.reshape({difference.size(0), steps, -1}).norm(2, -1) <= options_.tolerance;
  }

  Tensor Rewards(const Tensor& reaches, const Tensor& like) const {
    return torch::where(reaches, torch::full({}, options_.success_reward, like.options()),
                        torch::full({}, options_.failure_reward, like.options()));
  }

  void Relabel(const EnvironmentSpec& environment, TensorBatch* batch, UpdateContext* context) const {
    Tensor& reward = batch->fields.find(environment.rewards[0].name)->second;
    Tensor& discount = batch->fields.find(kDiscount)->second;
    const Tensor& other = batch->at(kOtherGoal);
    const Tensor reached_own = Reaches(*batch, batch->at(options_.goal));
    const Tensor chosen = context->noise()->UniformLike(reward.select(1, 0)) < options_.share;
    for (const std::string& name : {options_.goal, NextName(options_.goal)}) {
      Tensor& goal = batch->fields.find(name)->second;
      goal = Where(chosen, other, goal);
    }
    if (const auto rows = batch->fields.find(AllRowsName(options_.goal)); rows != batch->fields.end()) {
      rows->second = Where(chosen, other.unsqueeze(1).expand_as(rows->second), rows->second);
    }
    const Tensor reaches = Reaches(*batch, batch->at(options_.goal));
    const auto padded = [](const Tensor& steps) {
      return torch::cat({steps, torch::zeros_like(steps.narrow(1, 0, 1))}, 1);
    };
    reward = Where(chosen, padded(Rewards(reaches, reward)), reward);
    if (options_.terminates) {
      // An episode that ended at its own goal would go on with another. One that ended otherwise would not.
      const Tensor ended_otherwise =
          (discount.narrow(1, 0, reached_own.size(1)) == 0).logical_and(reached_own.logical_not());
      const Tensor goes_on = reaches.logical_or(ended_otherwise).logical_not();
      discount = Where(chosen, padded(goes_on.to(discount.scalar_type())), discount);
    }
  }

  // Fails if the environment's rewards do not follow from its own goals by the rule.
  void Check(const EnvironmentSpec& environment, const TensorBatch& batch, UpdateContext* context) const {
    const Tensor own = batch.at(environment.rewards[0].name);
    const int64_t steps = own.size(1) - 1;
    const Tensor reaches = Reaches(batch, batch.at(options_.goal));
    const Tensor rule = Rewards(reaches, own);
    const Tensor counts =
        torch::arange(steps, batch.at(kItemLength).options()).unsqueeze(0) < (batch.at(kItemLength) - 1).unsqueeze(1);
    const Tensor wrong = (own.narrow(1, 0, steps) != rule).logical_and(counts);
    if (wrong.any().item<bool>()) {
      const int64_t first = wrong.flatten().to(torch::kInt32).argmax().item<int64_t>();
      context->Fail(absl::InvalidArgumentError(absl::StrCat(
          "algorithm.modules, her: got a reward of ", own.narrow(1, 0, steps).flatten()[first].item<double>(),
          " from environment ", environment.name, "; wanted ", rule.flatten()[first].item<double>(),
          " by success_reward, failure_reward and tolerance, from the goals that the step shows")));
    }
    const Tensor ends = batch.at(kDiscount).narrow(1, 0, steps) == 0;
    if ((ends != options_.terminates).logical_and(reaches).logical_and(counts).any().item<bool>()) {
      context->Fail(absl::InvalidArgumentError(
          absl::StrCat("algorithm.modules, her, terminates: got ", options_.terminates ? "true" : "false", "; wanted ",
                       options_.terminates ? "false: environment " : "true: environment ", environment.name,
                       options_.terminates ? " goes on at its goals" : " ends at its goals")));
    }
  }

  const HerOptions options_;
  int64_t checked_ = 0;  // Updates so far, up to kCheckedUpdates.
};

}  // namespace

ModuleImplementation her_module_implementation() {
  return ImplementModule<Her, HerOptions>();
}

}  // namespace waggle
