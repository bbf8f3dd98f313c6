#include "common/base/problems.h"
#include "common/config/experiment/experiment.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/rainbow/rainbow.h"

namespace waggle {
namespace {

constexpr double kFirstNoise = 0.5;  // As in the paper.

absl::StatusOr<AlgorithmPlan> Plan(const RainbowOptions& options, const PlanContext& context) {
  if (!options.learns_distribution()) {
    return ValueBasedPlan(options, context, HeadKind::kQ);
  }
  AlgorithmPlan plan =
      ValueBasedPlan(options, context, {HeadKind::kCategoricalQ, options.atoms, options.low, options.high});
  // The priorities are divergences, which an actor's errors of values are not: items begin with the highest.
  plan.private_columns = {};
  plan.tables[0].initial_priority = nullptr;
  return plan;
}

// The paper's network: the layers of the streams are noisy, those before are not.
void Defaults(Experiment* experiment) {
  ValueBasedDefaults(experiment);
  NetworkSpec& network = experiment->networks["q"];
  network.torso[0].units = {64};
  network.heads["q"].units = {64};
  network.heads["q"].noise = kFirstNoise;
}

}  // namespace

// Noisy layers explore.
RainbowOptions::RainbowOptions() {
  exploration = ExplorationOptions();
  optimizer.epsilon = 1.5e-4;  // As in the paper.
}

void RainbowOptions::Visit(ConfigVisitor& visitor) {
  visitor.Choice("learns", &learns, {"distribution", "mean"});
  const auto of_distribution = [&](const char* key) {
    return visitor.Applies(key, learns_distribution(),
                           "means nothing to the mean; wanted none, or learns: distribution");
  };
  if (of_distribution("atoms")) {
    visitor.Int("atoms", &atoms, In(2, 10'000));
  }
  if (of_distribution("low")) {
    visitor.Double("low", &low, In(-1e9, 1e8));
  }
  if (of_distribution("high")) {
    visitor.Double("high", &high, In(-1e8, 1e9));
  }
  visitor.Bool("double_selection", &double_selection);
  ValueBasedOptions::Visit(visitor);
}

absl::Status RainbowOptions::Validate() const {
  Problems problems;
  problems.AddUnless(low < high, "low: got ", low, "; wanted less than high, ", high);
  problems.AddIfBad("", ValueBasedOptions::Validate());
  return problems.ToStatus();
}

AlgorithmDefinition rainbow_definition() {
  return Define("Q-learning of distributions of values, with all improvements of Rainbow", {SpaceKind::kDiscrete},
                Defaults, Plan);
}

}  // namespace waggle
