#include "common/rl/training/steppers.h"

#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

struct Fixture {
  Fixture()
      : parameters(testing::ValueOf(FlatParameters::Create({ArraySpec{"weight", DType::kFloat32, {3}}}, torch::kCPU))) {
    OptimizerOptions options;
    options.type = "sgd";
    options.learning_rate = 1;
    group = testing::ValueOf(ParameterGroup::Create("q", &parameters, options));
  }
  FlatParameters parameters;
  std::unique_ptr<ParameterGroup> group;
};

TEST_CASE("the local stepper steps the group's optimizer", "[unit]") {
  Fixture fixture;
  fixture.parameters.gradients().fill_(2);
  CHECK(testing::ValueOf(LocalStepper().Step(fixture.group.get(), Progress())));
  CHECK(torch::equal(fixture.parameters.values(), torch::full({3}, -2.0F)));
}

TEST_CASE("the local stepper refuses a gradient that is not finite and names the group", "[unit]") {
  Fixture fixture;
  fixture.parameters.gradients().fill_(std::numeric_limits<float>::infinity());
  const absl::Status status = LocalStepper().Step(fixture.group.get(), Progress()).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message() == "parameter group q: the gradient of step 1 is not finite");
  CHECK(fixture.parameters.values().sum().item<float>() == 0);
}

TEST_CASE("a captured gradient changes nothing here and steps elsewhere", "[unit]") {
  Fixture worker;
  Fixture server;
  worker.parameters.gradients().copy_(torch::arange(3));
  CaptureStepper capture;
  CHECK_FALSE(testing::ValueOf(capture.Step(worker.group.get(), Progress())));
  CHECK(worker.parameters.values().sum().item<float>() == 0);
  worker.parameters.gradients().zero_();  // The captured gradient is a copy.
  REQUIRE_OK(SetGradients(capture.gradients().at("q"), server.group.get()));
  REQUIRE_OK(LocalStepper().Step(server.group.get(), Progress()));
  CHECK(torch::equal(server.parameters.values(), torch::tensor({0.0F, -1.0F, -2.0F})));
  REQUIRE_CODE(SetGradients(torch::zeros({4}), server.group.get()), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
