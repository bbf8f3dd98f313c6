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

TEST_CASE("groups with a loss in common step by the gradient before their steps, one after the other", "[unit]") {
  Fixture f;
  // Finds one new gradient at a time.
  class Watching : public LocalStepper {
   public:
    explicit Watching(Fixture* fixture) : fixture_(fixture) {}
    absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override {
      CHECK((group == fixture_->a.group.get() || fixture_->a.group->gradients()[0].item<double>() == 2));
      CHECK((group == fixture_->b.group.get() || fixture_->b.group->gradients()[0].item<double>() == 0));
      return LocalStepper::Step(group, progress);
    }

   private:
    Fixture* const fixture_;
  };
  Watching stepper(&f);
  UpdateContext context = f.Context(&stepper);
  CHECK(context.DescendAll((f.a.leaf * f.b.leaf).sum(), {f.a.group.get(), f.b.group.get()}));
  REQUIRE_OK(context.status());
  CHECK(f.a.value(0) == -1);  // 1 - 2.
  CHECK(f.b.value(0) == 1);   // 2 - 1.
  const auto metrics = context.TakeMetrics();
  REQUIRE(metrics.size() == 4);
  CHECK(metrics[0].first == "a_loss");
  CHECK(metrics[1].first == "b_loss");
  CHECK(metrics[1].second.item<double>() == 4);
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
  CHECK_FALSE(context.Assign(torch::zeros({2}, torch::kFloat64), f.a.group.get()));
  REQUIRE_OK(context.status());
  CHECK(f.a.value(0) == 1);
  CHECK(capture.gradients().at("a")[1].item<double>() == 1);
}

TEST_CASE("nothing is stepped after a loss that is not finite", "[unit]") {
  Fixture f;
  UpdateContext context = f.Context(&f.stepper);
  CHECK_FALSE(context.Descend(f.a.leaf.sum() * std::numeric_limits<double>::infinity(), f.a.group.get()));
  CHECK(absl::IsInvalidArgument(context.status()));
  CHECK(context.status().message().find("a_loss: got inf") == 0);
  CHECK_FALSE(context.Descend(f.b.leaf.sum(), f.b.group.get()));
  CHECK(f.a.value(0) == 1);
  CHECK(f.b.value(0) == 2);
}

TEST_CASE("a gradient without a step is that of the loss, and changes no values", "[unit]") {
  Fixture f;
  UpdateContext context = f.Context(&f.stepper);
  const torch::Tensor loss = (f.a.leaf.square() * f.b.leaf).sum();
  f.a.group->gradients().fill_(7);
  for (int twice = 0; twice < 2; ++twice) {
    const torch::Tensor gradient = context.Gradient(loss, f.a.group.get());
    CHECK(torch::equal(gradient, torch::full({2}, 4.0, torch::kFloat64)));  // 2 a b.
  }
  REQUIRE_OK(context.status());
  CHECK(f.a.value(0) == 1);
  CHECK(f.a.group->gradients()[0].item<double>() == 7);
  CHECK(f.b.group->gradients()[0].item<double>() == 0);
  CHECK(context.TakeMetrics().empty());
}

TEST_CASE("a gradient's graph can be differentiated again, and has zeros for unused parameters", "[unit]") {
  Fixture f;
  UpdateContext context = f.Context(&f.stepper);
  const torch::Tensor gradient = context.GradientGraph(f.a.leaf.pow(3).sum(), f.a.group.get());
  CHECK(torch::allclose(gradient, torch::full({2}, 3.0, torch::kFloat64)));
  const torch::Tensor vector = torch::tensor({1.0, -2.0}, torch::kFloat64);
  const torch::Tensor product = context.Gradient(gradient.dot(vector), f.a.group.get());
  CHECK(torch::allclose(product, 6 * vector));
  CHECK(torch::equal(context.GradientGraph(f.b.leaf.sum(), f.a.group.get()), torch::zeros({2}, torch::kFloat64)));
}

// Learners that step together: this one and one whose tensors are all ones.
class WithOnes : public LocalStepper {
 public:
  absl::Status Average(const torch::Tensor& tensor) override {
    torch::Tensor mean = tensor;
    mean.add_(1).div_(2);
    return status;
  }
  absl::Status status;
};

TEST_CASE("gradients, means and assigned values are those of all learners", "[unit]") {
  Fixture f;
  WithOnes stepper;
  UpdateContext context = f.Context(&stepper);
  CHECK(context.Gradient(5 * f.a.leaf.sum(), f.a.group.get())[0].item<double>() == 3);
  const torch::Tensor own = torch::tensor({7.0});
  CHECK(context.Mean(own).item<double>() == 4);
  CHECK(own.item<double>() == 7);
  CHECK(context.Assign(torch::full({2}, -3.0, torch::kFloat64), f.a.group.get()));
  CHECK(f.a.value(1) == -1);
  CHECK_FALSE(
      context.Assign(torch::full({2}, std::numeric_limits<double>::quiet_NaN(), torch::kFloat64), f.a.group.get()));
  CHECK(absl::IsInvalidArgument(context.status()));
  CHECK(f.a.value(1) == -1);
}

TEST_CASE("after an error of the other learners nothing is assigned, and gradients are zeros", "[unit]") {
  Fixture f;
  WithOnes stepper;
  stepper.status = absl::UnavailableError("a learner has left");
  UpdateContext context = f.Context(&stepper);
  CHECK(context.Gradient(f.a.leaf.sum(), f.a.group.get())[0].item<double>() == 0);
  CHECK(absl::IsUnavailable(context.status()));
  CHECK_FALSE(context.Assign(torch::zeros({2}, torch::kFloat64), f.a.group.get()));
  CHECK(f.a.value(0) == 1);
  CHECK_FALSE(context.Descend(f.a.leaf.sum(), f.a.group.get()));
}

}  // namespace
}  // namespace waggle
