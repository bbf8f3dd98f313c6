#include <cmath>

#include "common/rl/algorithms/apex_dqn/apex_dqn.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a transition of Ape-X DQN starts with its TD error at the algorithm's discount", "[unit]") {
  ApexDqnOptions options;
  options.discount = 0.5;
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {4})};
  environment.actions = {Discrete("action", 2)};
  const LearnerOptions learner;
  const ReplayOptions replay;
  const AlgorithmPlan plan = testing::ValueOf(apex_dqn_definition().plan(options, {environment, {}, replay, learner}));
  // The values of the taken action, and of the best one.
  const float q[2][2] = {{2, 3}, {9, 10}};
  const WindowRow rows[2] = {{1, 1, q[0]}, {0, 0, q[1]}};
  CHECK(plan.tables.at(0).initial_priority(rows, 2) == Approx(std::abs(1 + 0.5 * 10 - 2)));
}

TEST_CASE("the target follows softly by default, and periodically if steps are given", "[unit]") {
  ApexDqnOptions options;
  CHECK(options.EffectiveTargetUpdateRate() == 0.01);
  options.update_steps = 100;
  CHECK(options.EffectiveTargetUpdateRate() == 0);
}

}  // namespace
}  // namespace waggle
