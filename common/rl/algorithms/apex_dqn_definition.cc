#include "common/rl/algorithms/apex_dqn_definition.h"

#include <cmath>
#include <memory>
#include <vector>

#include "common/base/problems.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr double kDefaultUpdateRate = 0.005;
constexpr int64_t kMaxSteps = int64_t{1} << 50;
constexpr int64_t kMaxNStep = 1'000;

// |n-step TD error| by the weights that acted: of a row's private columns the first is the value of the action taken,
// the second that of the best one.
InitialPriority TdErrorPriority(double discount, double priority_epsilon) {
  return [discount, priority_epsilon](const WindowRow* rows, int64_t count) {
    double target = 0;
    double weight = 1;
    for (int64_t k = 0; k + 1 < count; ++k) {
      target += weight * static_cast<double>(rows[k].reward);
      weight *= discount * static_cast<double>(rows[k].discount);
    }
    if (weight != 0) {
      target += weight * static_cast<double>(rows[count - 1].extras[1]);
    }
    return std::abs(target - static_cast<double>(rows[0].extras[0])) + priority_epsilon;
  };
}

// What belongs to sampling by priority, or to using priorities at all, only.
absl::Status CheckPriorities(const ApexDqnOptions& options, const TableConfig& table) {
  const ApexDqnOptions defaults;
  // Otherwise all items are drawn alike, or by no chance at all, and their weights are equal.
  const bool has_weights = table.sampler.kind == SelectorKind::kPrioritized || table.sampler.recent_share > 0;
  Problems problems;
  const auto check = [&](bool has_meaning, const char* field, double value, double default_value) {
    problems.AddUnless(has_meaning || value == default_value, "algorithm.", field, ": means nothing to the sampler ",
                       Name(table.sampler.kind), "; wanted none, or replay.sampler.kind: prioritized");
  };
  check(has_weights, "importance_exponent", options.importance_exponent, defaults.importance_exponent);
  check(has_weights, "importance_exponent_final", options.importance_exponent_final,
        defaults.importance_exponent_final);
  check(has_weights, "importance_anneal_steps", static_cast<double>(options.importance_anneal_steps),
        static_cast<double>(defaults.importance_anneal_steps));
  check(table.UsesPriorities(), "priority_epsilon", options.priority_epsilon, defaults.priority_epsilon);
  return problems.ToStatus();
}

LearnerArrays CountArrays(const AlgorithmOptions& algorithm_options) {
  const auto& options = static_cast<const ApexDqnOptions&>(algorithm_options);
  LearnerArrays arrays;
  // A target network has gradients, too, which nothing uses.
  const int64_t targets = options.mode == "vanilla" ? 0 : 1;
  arrays.all += 2 * targets + options.optimizer.StateArrays();
  arrays.saved += targets + options.optimizer.StateArrays();
  return arrays;
}

absl::StatusOr<std::vector<TablePlan>> PlanTables(const AlgorithmOptions& algorithm_options,
                                                  const EnvironmentSpec& environment, const ReplayOptions& replay,
                                                  const LearnerOptions& learner) {
  const auto& options = static_cast<const ApexDqnOptions&>(algorithm_options);
  WAGGLE_RETURN_IF_ERROR(CheckPriorities(options, replay.table));
  TablePlan plan;
  TableConfig& table = plan.table;
  table = replay.TableFor(learner.batch_size);
  table.name = "transitions";
  // One of each: CheckSpaces (common/experiment/space_checks.h).
  const ArraySpec& observation = environment.observations[0].array;
  const ArraySpec& action = environment.actions[0].array;
  const ArraySpec& reward = environment.rewards[0];
  table.signature = {observation, action, reward, ArraySpec{kDiscount, DType::kFloat32, {}}};
  table.view = {{kObservation, observation.name, ViewField::Rows::kFirst},
                {kAction, action.name, ViewField::Rows::kFirst},
                {kReward, reward.name, ViewField::Rows::kAll},
                {kDiscount, kDiscount, ViewField::Rows::kAll},
                {"next_observation", observation.name, ViewField::Rows::kLast}};
  table.max_window = options.n_step + 1;
  plan.window.kind = WindowPlan::Kind::kNStep;
  plan.window.length = options.n_step + 1;
  if (table.UsesPriorities()) {
    plan.initial_priority = TdErrorPriority(options.discount, options.priority_epsilon);
  }
  return std::vector<TablePlan>{plan};
}

}  // namespace

double ApexDqnOptions::EffectiveUpdateRate() const {
  return update_rate.value_or(update_steps == 0 ? kDefaultUpdateRate : 0);
}

void ApexDqnOptions::Visit(ConfigVisitor& visitor) {
  visitor.Choice("mode", &mode, {"vanilla", "fixed_target", "double"});
  visitor.Int("n_step", &n_step, In(1, kMaxNStep));
  visitor.Double("discount", &discount, In(0, 1));
  visitor.Choice("loss", &loss, {"huber", "mse"});
  visitor.OptionalDouble("update_rate", &update_rate, Above(0, 1));
  visitor.Int("update_steps", &update_steps, In(0, kMaxSteps));
  if (mode != "vanilla" && update_steps == 0) {
    update_rate = EffectiveUpdateRate();  // So that the effective configuration shows it.
  }
  visitor.Double("importance_exponent", &importance_exponent, In(0, 1));
  visitor.Double("importance_exponent_final", &importance_exponent_final, In(0, 1));
  visitor.Int("importance_anneal_steps", &importance_anneal_steps, In(0, kMaxSteps));
  visitor.Double("priority_epsilon", &priority_epsilon, In(0, 1e6));
  visitor.Double("epsilon_base", &epsilon_base, In(0, 1));
  visitor.Double("epsilon_alpha", &epsilon_alpha, In(0, 1e3));
  visitor.Int("epsilon_anneal_steps", &epsilon_anneal_steps, In(0, kMaxSteps));
  visitor.Section("optimizer", &optimizer);
}

absl::Status ApexDqnOptions::Validate() const {
  Problems problems;
  problems.AddUnless(!update_rate.has_value() || update_steps == 0, "update_rate: ", update_rate.value_or(0),
                     " and update_steps: ", update_steps, " exclude each other; give one of them");
  problems.AddUnless(mode != "vanilla" || (!update_rate.has_value() && update_steps == 0),
                     "update_rate and update_steps mean nothing in mode vanilla, which has no target network");
  return problems.ToStatus();
}

AlgorithmDefinition ApexDqnDefinition() {
  AlgorithmDefinition definition;
  definition.description = "Q-learning from prioritised n-step transitions of many exploring actors (Ape-X DQN)";
  definition.action_kinds = {SpaceKind::kDiscrete};
  definition.head_types = {"q", "dueling"};
  definition.new_options = [] { return std::make_unique<ApexDqnOptions>(); };
  definition.learner_arrays = CountArrays;
  definition.plan_tables = PlanTables;
  return definition;
}

}  // namespace waggle
