#include <cmath>
#include <limits>
#include <string>

#include "common/config/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/r2d2/r2d2.h"
#include "common/rl/kit/returns/value_rescaling.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

EnvironmentSpec Environment() {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {4})};
  environment.actions = {Discrete("action", 2)};
  return environment;
}

absl::StatusOr<ExperimentPlan> Plan(const std::string& algorithm, const std::string& sections = "") {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  return PlanExperiment(testing::ValueOf(ParseExperiment(
                            "algorithm: {name: r2d2, " + algorithm + "}\nstop: {max_learner_steps: 10}\n" + sections,
                            "test.yaml", {}, definitions)),
                        Environment(), definitions);
}

TEST_CASE("a sequence starts with the mix of its TD errors by the weights that acted", "[unit]") {
  const ExperimentPlan plan =
      testing::ValueOf(Plan("sequence: 2, burn_in: 1, n_step: 2, discount: 0.5, rescaling_epsilon: 0.01, eta: 0.75"));
  const InitialPriority& priority = plan.algorithm.tables[0].initial_priority;
  REQUIRE(priority != nullptr);
  const auto h = [](double value) { return RescaledValue(value, 0.01); };
  const auto value = [](double rescaled) { return UnrescaledValue(rescaled, 0.01); };
  // By row: the network's value of the taken action, then of the best one.
  const float q[4][2] = {{2, 3}, {0.5, 0.75}, {1.5, 2}, {7, 1.25}};
  WindowRow rows[4] = {{1, 1, q[0]}, {4, 1, q[1]}, {-2, 1, q[2]}, {100, 100, q[3]}};
  const double errors[3] = {std::abs(h(1 + 0.5 * 4 + 0.25 * value(2)) - 2),
                            std::abs(h(4 + 0.5 * -2 + 0.25 * value(1.25)) - 0.5),
                            std::abs(h(-2 + 0.5 * value(1.25)) - 1.5)};  // One step before the sequence's end.
  // The burn-in does not count.
  CHECK(priority(rows, 4) == Approx(0.75 * std::max(errors[1], errors[2]) + 0.25 * (errors[1] + errors[2]) / 2));
  // The first sequence of an episode counts as a whole.
  rows[0].first = true;
  CHECK(priority(rows, 4) ==
        Approx(0.75 * std::max({errors[0], errors[1], errors[2]}) + 0.25 * (errors[0] + errors[1] + errors[2]) / 3));
  // No value counts after a terminal state.
  const float broken[2] = {0, std::numeric_limits<float>::infinity()};
  rows[0].discount = 0;
  rows[1].extras = broken;
  CHECK(priority(rows, 2) == Approx(std::abs(h(1) - 2)));
}

TEST_CASE("sequences have no priority if the table draws nothing by priority", "[unit]") {
  const ExperimentPlan plan = testing::ValueOf(Plan("n_step: 2", "replay: {sampler: {kind: uniform}}\n"));
  CHECK(plan.algorithm.private_columns.empty());
  CHECK(plan.algorithm.tables[0].initial_priority == nullptr);
}

}  // namespace
}  // namespace waggle
