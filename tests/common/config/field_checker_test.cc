#include "common/config/field_checker.h"

#include <limits>
#include <string>

#include "tests/common/config/sample_options.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::TrainOptions;

TrainOptions Right() {
  TrainOptions options;
  options.mode = "double";
  return options;
}

TEST_CASE("options made in code are checked against the ranges of their fields", "[unit]") {
  REQUIRE_OK(Check(Right()));
  TrainOptions options = Right();
  options.batch_size = 5'000;
  options.learning_rate = std::numeric_limits<double>::quiet_NaN();
  options.target = 1e10;
  options.mode = "dubble";
  options.layers[0].type = "lstm";
  options.layers[0].units = {1, 0};
  CHECK(Check(options).message() ==
        "batch_size: got the number 5000; wanted an integer in [1, 4096]\n"
        "learning_rate: got the number nan; wanted a number in [0, 1]\n"
        "target: got the number 10000000000; wanted a number in [-1000000000, 1000000000]\n"
        "mode: got \"dubble\"; wanted one of vanilla, double; did you mean \"double\"?\n"
        "layers[0].type: got \"lstm\"; wanted one of mlp, conv\n"
        "layers[0].units[1]: got the number 0; wanted an integer in [1, 4096]");
}

TEST_CASE("relations between fields are checked if each is right by itself", "[unit]") {
  TrainOptions options = Right();
  options.batch_size = 7;
  CHECK(Check(options).message() == "batch_size: 7 is odd; wanted an even number");
  options.layers[0].units = {};
  // An inner section's error comes first, and hides the outer one's.
  CHECK(Check(options).message() == "layers[0].units: at least one is wanted");
}

TEST_CASE("the ends of a schedule are within its range", "[unit]") {
  struct Options {
    Schedule clip = 0.2;
    void Visit(ConfigVisitor& visitor) { visitor.Schedule("clip", &clip, In(0, 1)); }
    static absl::Status Validate() { return absl::OkStatus(); }
  };
  Options options;
  REQUIRE_OK(Check(options));
  options.clip = Schedule::Linear(0.5, 2);
  CHECK(Check(options).message() == "clip.to: got the number 2; wanted a number in [0, 1]");
  options.clip = 7;
  CHECK(Check(options).message() == "clip: got the number 7; wanted a number in [0, 1]");
  options.clip = Schedule::Linear(0.5, 1, Schedule::Clock::kRun, 3);
  CHECK(std::string(Check(options).message()).rfind("clip.until: ", 0) == 0);
  options.clip = Schedule::Through({{0, 1}, {-1, 2}}, Schedule::Clock::kEnvSteps);
  CHECK(Check(options).message() ==
        "clip.points[1][0]: got the number -1; wanted a number >= 0\n"
        "clip.points[1][1]: got the number 2; wanted a number in [0, 1]");
  options.clip = Schedule::Through({{0, 1}, {1, 0.5}}, Schedule::Clock::kEnvSteps);
  REQUIRE_OK(Check(options));
}

}  // namespace
}  // namespace waggle
