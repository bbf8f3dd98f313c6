#include "common/rl/kit/entropy_bonus.h"

#include <cmath>
#include <string>

#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

// A bonus in the midst of its model, at any point of a run.
struct Fixture {
  explicit Fixture(const EntropyOptions& of)
      : options(of),
        trainee(testing::ActorCriticOf(of.target.has_value()
                                           ? "name: a2c, entropy: {weight: 0.5, target: " + std::to_string(*of.target) +
                                                 ", optimizer: {type: sgd, learning_rate: 0.1}}"
                                           : "name: a2c",
                                       testing::EnvironmentOf(3, Discrete("action", 4)))),
        bonus(options, &trainee->model()) {}

  UpdateContext Context(double run) { return UpdateContext(&stepper, {run, 0, 0}, &noise); }
  double Weight(double run = 0) { return bonus.Weight(Context(run), torch::zeros({}, torch::kFloat64)).item<double>(); }

  const EntropyOptions options;
  const std::unique_ptr<AlgorithmTrainee> trainee;
  const EntropyBonus bonus;
  LocalStepper stepper;
  Noise noise{1, torch::kCPU};
};

TEST_CASE("the weight of the entropy that is given moves with the run, and nothing is learned", "[unit]") {
  EntropyOptions options;
  options.weight = Schedule::Linear(0.4, 0.2);
  Fixture fixture(options);
  CHECK(fixture.Weight(0) == Approx(0.4));
  CHECK(fixture.Weight(0.5) == Approx(0.3));
  CHECK(fixture.Weight(1) == Approx(0.2));
  UpdateContext context = fixture.Context(0);
  fixture.bonus.Learn(torch::ones({}, torch::kFloat64), &context);
  CHECK(context.TakeMetrics().empty());
  CHECK(fixture.bonus.Weight(context, torch::zeros({}, torch::kFloat32)).scalar_type() == torch::kFloat32);
}

TEST_CASE("a learned weight of the entropy grows below the target, shrinks above it, and stays there", "[unit]") {
  EntropyOptions options;
  options.weight = 0.5;
  options.target = 1;
  Fixture fixture(options);
  CHECK(fixture.Weight() == Approx(0.5));
  CHECK_FALSE(fixture.bonus.Weight(fixture.Context(0), torch::zeros({}, torch::kFloat64)).requires_grad());
  // By its logarithm, at a rate of 0.1 for each nat.
  for (const auto& [entropy, factor] : {std::make_pair(0.75, std::exp(0.025)), {1.0, 1.0}, {3.0, std::exp(-0.2)}}) {
    const double before = fixture.Weight();
    UpdateContext context = fixture.Context(0);
    const torch::Tensor mean = torch::full({}, entropy, torch::kFloat64).set_requires_grad(true);
    fixture.bonus.Learn(mean, &context);
    REQUIRE_OK(context.status());
    CHECK_FALSE(mean.grad().defined());
    CHECK(fixture.Weight() == Approx(before * factor));
  }
}

}  // namespace
}  // namespace waggle
