#include <cmath>
#include <limits>

#include "common/rl/algorithms/apex_dqn/apex_dqn.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

InitialPriority PriorityOf(const ApexDqnOptions& options, const ReplayOptions& replay = ReplayOptions()) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {4})};
  environment.actions = {Discrete("action", 2)};
  const LearnerOptions learner;
  return testing::ValueOf(apex_dqn_definition().plan(options, {environment, {}, replay, learner}))
      .tables.at(0)
      .initial_priority;
}

TEST_CASE("windows have a priority if the table picks anything by it", "[unit]") {
  ReplayOptions replay;
  CHECK(PriorityOf(ApexDqnOptions(), replay) != nullptr);
  replay.table.sampler.kind = SelectorKind::kUniform;
  CHECK(PriorityOf(ApexDqnOptions(), replay) == nullptr);
  replay.table.remover.kind = SelectorKind::kMinHeap;
  CHECK(PriorityOf(ApexDqnOptions(), replay) != nullptr);
}

TEST_CASE("a window starts with its n-step TD error by the weights that acted", "[unit]") {
  ApexDqnOptions options;
  options.discount = 0.5;
  const InitialPriority priority = PriorityOf(options);
  // By row: the Q-value of the taken action, then of the best one.
  const float q[3][2] = {{2, 3}, {9, 9}, {7, 8}};
  WindowRow rows[3] = {{1, 1, q[0]}, {4, 1, q[1]}, {100, 100, q[2]}};
  // 1 + 0.5 * 4 + 0.25 * 8 - 2 = 3.
  CHECK(priority(rows, 3) == Approx(3));
  // After a truncation the last row's value counts.
  CHECK(priority(rows, 2) == Approx(std::abs(1 + 0.5 * 9 - 2)));
  // After a terminal state it does not.
  const float broken[2] = {0, std::numeric_limits<float>::infinity()};
  rows[1].discount = 0;
  rows[2].extras = broken;
  CHECK(priority(rows, 3) == Approx(1));
}

TEST_CASE("the target follows softly by default, and periodically if steps are given", "[unit]") {
  ApexDqnOptions options;
  CHECK(options.EffectiveTargetUpdateRate() == 0.01);
  options.update_steps = 100;
  CHECK(options.EffectiveTargetUpdateRate() == 0);
}

}  // namespace
}  // namespace waggle
