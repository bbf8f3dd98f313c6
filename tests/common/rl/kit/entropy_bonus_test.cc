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
        trainee(testing::ActorCriticOf(of.rule == "stages" ? "name: a2c, entropy: {weight: 0.5, rule: stages}"
                                       : of.target.has_value()
                                           ? "name: a2c, entropy: {weight: 0.5, target: " + std::to_string(*of.target) +
                                                 ", optimizer: {type: sgd, learning_rate: 0.1}}"
                                           : "name: a2c",
                                       testing::EnvironmentOf(3, Discrete("action", 4)))),
        bonus(options, &trainee->model()) {}

  UpdateContext Context(double run) { return UpdateContext(&stepper, {run, 0, 0}, &noise); }
  double Weight(double run = 0) { return bonus.Weight(Context(run), torch::zeros({}, torch::kFloat64)).item<double>(); }

  const EntropyOptions options;
  const std::unique_ptr<AlgorithmTrainee> trainee;
  EntropyBonus bonus;
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

TEST_CASE("the weight of the rule stages grows below the target, and its optimizer has no part in it", "[unit]") {
  EntropyOptions options;
  options.weight = 0.5;
  options.rule = "stages";
  options.stages.adjusts_first = true;
  options.stages.fastest_rate = std::log(2);
  Fixture fixture(options);
  CHECK(fixture.Weight() == Approx(0.5));
  UpdateContext context = fixture.Context(0);
  // Targets by default: 0.1 (log 3 - log 0.1) - 0.9 log 0.9 for four choices.
  fixture.bonus.Learn(torch::full({}, 0.2, torch::kFloat64), &context);
  CHECK(fixture.Weight() == Approx(1));
  fixture.bonus.Learn(torch::full({}, 0.1, torch::kFloat64), &context);
  CHECK(fixture.Weight() == Approx(2));
  fixture.bonus.Learn(torch::full({}, 1.0, torch::kFloat64), &context);
  CHECK(fixture.Weight() < 2);
  REQUIRE_OK(context.status());
  for (const auto& [name, value] : context.TakeMetrics()) {
    CHECK(name == "entropy_weight");
  }
}

}  // namespace
}  // namespace waggle
