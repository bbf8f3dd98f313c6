#include <algorithm>
#include <cmath>

#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using testing::ActedBy;
using testing::ActorCriticOf;
using testing::Metric;
using testing::RandomUnrolls;
using testing::ReferenceStep;
using testing::Updated;

// With lambda 0 a step's advantage and its value's error are those of the policy itself times the clipped ratio.
TEST_CASE("IMPALA weights a step by the ratio of its present to its acting probability", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 4));
  const auto trainee =
      ActorCriticOf("name: impala, unroll: 5, lambda: 0, discount: 0.9, value_weight: 0.3", environment);
  const TensorBatch own = ActedBy(trainee->model(), RandomUnrolls(environment, 6), 0);
  auto steps = testing::ReferenceSteps(trainee->model().net("actor_critic").network(), environment, own, 0.9, 0);
  for (const double ratio : {0.5, 1.0 / 3, 1.0, 4.0}) {
    const double counts = std::min(1.0, ratio);
    double loss = 0;
    for (const ReferenceStep& step : steps) {
      const double error = counts * step.advantage;
      loss += (0.3 * error * error - counts * step.advantage * step.log_prob - 0.01 * step.entropy) /
              static_cast<double>(steps.size());
    }
    CaptureStepper stepper;
    const UpdateResult result = Updated(trainee.get(), ActedBy(trainee->model(), own, -std::log(ratio)), &stepper);
    CHECK(Metric(result, "actor_critic_loss") == Approx(loss));
    CHECK(Metric(result, "ratio_mean") == Approx(ratio));
    CHECK(Metric(result, "clip_fraction") == Approx(ratio > 1.5 ? 1 : 0).margin(ratio == 1 ? 1 : 1e-9));
  }
}

}  // namespace
}  // namespace waggle
