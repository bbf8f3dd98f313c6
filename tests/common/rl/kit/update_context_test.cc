#include "common/rl/kit/update_context.h"

#include <cmath>
#include <limits>

#include "common/base/status_macros.h"
#include "common/nn/parameter_group.h"
#include "common/rl/training/steppers.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// Two groups of two numbers each, stepped by plain gradient descent of rate 1.
struct Fixture {
  struct Group {
    Group(const char* name, double value)
        : parameters(testing::ValueOf(
              FlatParameters::Create({ArraySpec{"w", DType::kFloat32, {2}}}, torch::kCPU, torch::kFloat64))) {
      torch::NoGradGuard no_grad;
      torch::Tensor values = parameters.values();
      values.fill_(value);
      leaf = parameters.AddLeaf(0);
      OptimizerOptions options;
      options.type = "sgd";
      options.learning_rate = Schedule::Linear(1, 0, Schedule::Clock::kLearnerSteps, 10);
      group = testing::ValueOf(ParameterGroup::Create(name, &parameters, options));
    }
    double value(int64_t i) const { return parameters.values()[i].item<double>(); }

    FlatParameters parameters;
    torch::Tensor leaf;
    std::unique_ptr<ParameterGroup> group;
  };

  UpdateContext Context(Stepper* by, int64_t learner_steps = 0) {
    return UpdateContext(by, {0, learner_steps, 0}, &noise);
  }

  Group a{"a", 1};
  Group b{"b", 2};
  Noise noise{1, torch::kCPU};
  LocalStepper stepper;
};

TEST_CASE("a loss steps its own group and no other, though it depends on both", "[unit]") {
  Fixture f;
  UpdateContext context = f.Context(&f.stepper);
  CHECK(context.Descend((f.a.leaf * f.b.leaf).sum(), f.a.group.get()));
  REQUIRE_OK(context.status());
  CHECK(f.a.value(0) == -1);  // 1 - 2.
  CHECK(f.b.value(0) == 2);
  CHECK(f.b.group->gradients()[0].item<double>() == 0);
}

TEST_CASE("each descent begins with a gradient of its own, at the learning rate of the run's progress", "[unit]") {
  Fixture f;
  UpdateContext context = f.Context(&f.stepper, /*learner_steps=*/5);
  CHECK(context.Descend(f.a.leaf.sum(), f.a.group.get()));
  CHECK(f.a.value(0) == 0.5);
  CHECK(context.Descend(f.a.leaf.sum(), f.a.group.get()));
  CHECK(f.a.value(0) == 0);
}

TEST_CASE("reports have the loss by its group's name, and the means of tensors", "[unit]") {
  Fixture f;
  UpdateContext context = f.Context(&f.stepper);
  context.Descend(f.a.leaf.sum() * 3, f.a.group.get());
  context.Report("values", torch::tensor({1.0, 2.0, 6.0}));
  const auto metrics = context.TakeMetrics();
  REQUIRE(metrics.size() == 3);
  CHECK(metrics[0].first == "a_loss");
  CHECK(metrics[0].second.item<double>() == 6);
  CHECK_FALSE(metrics[0].second.requires_grad());
  CHECK(metrics[1].first == "a_gradient_norm");
  CHECK(metrics[1].second.item<double>() == Approx(3 * std::sqrt(2.0)));
  CHECK(metrics[2].first == "values");
  CHECK(metrics[2].second.item<double>() == Approx(3));
}

TEST_CASE("a stepper that only keeps the gradient changes no values, and targets do not follow", "[unit]") {
  Fixture f;
  CaptureStepper capture;
  UpdateContext context = f.Context(&capture);
  CHECK_FALSE(context.Descend(f.a.leaf.sum(), f.a.group.get()));
  REQUIRE_OK(context.status());
  CHECK(f.a.value(0) == 1);
  CHECK(capture.gradients().at("a")[1].item<double>() == 1);
}

TEST_CASE("nothing is stepped after a loss that is not finite", "[unit]") {
  Fixture f;
  UpdateContext context = f.Context(&f.stepper);
  CHECK_FALSE(context.Descend(f.a.leaf.sum() * std::numeric_limits<double>::infinity(), f.a.group.get()));
  CHECK(absl::IsInvalidArgument(context.status()));
  CHECK(context.status().message().find("a_loss is inf") == 0);
  CHECK_FALSE(context.Descend(f.b.leaf.sum(), f.b.group.get()));
  CHECK(f.a.value(0) == 1);
  CHECK(f.b.value(0) == 2);
}

}  // namespace
}  // namespace waggle
