#include "common/plan/optimizer_options.h"

#include <limits>
#include <string>

#include "common/config/field_checker.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("the defaults of an optimizer are valid", "[unit]") {
  REQUIRE_OK(Check(OptimizerOptions()));
}

TEST_CASE("every wrong value of an optimizer is named, one a line", "[unit]") {
  OptimizerOptions options;
  options.type = "adamax";
  options.learning_rate = -1;
  options.beta2 = 1;
  options.gradient_clip_norm = std::numeric_limits<double>::quiet_NaN();
  const absl::Status status = Check(options);
  CHECK(absl::IsInvalidArgument(status));
  for (const char* key :
       {"type: ", "learning_rate: got the number -1;", "beta2: got the number 1;", "gradient_clip_norm: "}) {
    CHECK(status.message().find(key) != std::string::npos);
  }
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
