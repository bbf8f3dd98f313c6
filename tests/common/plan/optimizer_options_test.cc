#include "common/plan/optimizer_options.h"

#include <limits>
#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("the defaults of an optimizer are valid", "[unit]") {
  REQUIRE_OK(OptimizerOptions().Validate());
}

TEST_CASE("a linear schedule goes to its final learning rate and stays there", "[unit]") {
  OptimizerOptions options;
  options.learning_rate = 0.1;
  CHECK(options.LearningRate(1'000'000) == 0.1);
  options.schedule = "linear";
  options.final_learning_rate = 0.02;
  options.schedule_steps = 8;
  REQUIRE_OK(options.Validate());
  CHECK(options.LearningRate(0) == Approx(0.1));
  CHECK(options.LearningRate(4) == Approx(0.06));
  CHECK(options.LearningRate(8) == Approx(0.02));
  CHECK(options.LearningRate(1'000'000) == Approx(0.02));
}

TEST_CASE("every wrong value of an optimizer is named, one a line", "[unit]") {
  OptimizerOptions options;
  options.type = "adamax";
  options.learning_rate = -1;
  options.beta2 = 1;
  options.gradient_clip_norm = std::numeric_limits<double>::quiet_NaN();
  options.schedule = "linear";
  CHECK(options.Validate().message() ==
        "type: \"adamax\" is not one of adam, adamw, rmsprop, sgd\n"
        "learning_rate: -1 is outside [0, 10]\n"
        "beta2: 1 is outside [0, 1)\n"
        "gradient_clip_norm: nan is outside [0, 1e9]\n"
        "schedule: linear needs schedule_steps above 0");
  options = OptimizerOptions();
  options.schedule_steps = 10;
  CHECK(options.Validate().message() ==
        "schedule: final_learning_rate and schedule_steps mean nothing for a constant one; did you mean \"linear\"?");
}

TEST_CASE("what means nothing to an optimizer's type is refused", "[unit]") {
  OptimizerOptions options;
  options.momentum = 0.9;
  options.alpha = 0.5;
  CHECK(options.Validate().message() ==
        "alpha: means nothing to adam; wanted none, or a type of rmsprop\n"
        "momentum: means nothing to adam; wanted none, or a type of rmsprop, sgd");
  options.type = "rmsprop";
  REQUIRE_OK(options.Validate());
  options = OptimizerOptions();
  options.type = "sgd";
  options.beta1 = 0.5;
  options.epsilon = 1e-5;
  CHECK(options.Validate().message() ==
        "beta1: means nothing to sgd; wanted none, or a type of adam, adamw\n"
        "epsilon: means nothing to sgd; wanted none, or a type of adam, adamw, rmsprop");
}

}  // namespace
}  // namespace waggle
