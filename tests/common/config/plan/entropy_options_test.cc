#include "common/config/plan/entropy_options.h"

#include <cmath>
#include <string>

#include "common/config/field_checker.h"
#include "tests/support/config_text.h"

namespace waggle {
namespace {

using testing::ReadFields;

TEST_CASE("the entropy's weight is learned only if there is a target", "[unit]") {
  EntropyOptions options;
  REQUIRE_OK(Check(options));
  REQUIRE_OK(options.Validate());
  CHECK(EntropyScalars(options).empty());
  REQUIRE_OK(ReadFields("weight: {from: 0.1, to: 0, shape: linear}", &options));
  REQUIRE_OK(options.Validate());
  CHECK(options.weight == Schedule::Linear(0.1, 0));
  const absl::Status status = ReadFields("optimizer: {learning_rate: 0.1}", &options);
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::Contains("optimizer: means nothing without a target"));
}

TEST_CASE("a learned weight begins with the given one, in any order of the keys", "[unit]") {
  for (const char* const yaml : {"target: -1.5\nweight: 0.25\noptimizer: {learning_rate: 0.1}",
                                 "optimizer: {learning_rate: 0.1}\nweight: 0.25\ntarget: -1.5"}) {
    EntropyOptions options;
    REQUIRE_OK(ReadFields(yaml, &options));
    REQUIRE_OK(Check(options));
    REQUIRE_OK(options.Validate());
    CHECK(options.target == -1.5);
    const std::vector<ScalarNeed> scalars = EntropyScalars(options);
    REQUIRE(scalars.size() == 1);
    CHECK(scalars[0].name == kLogEntropyWeight);
    CHECK(scalars[0].initial == Approx(std::log(0.25)));
    CHECK(scalars[0].optimizer.learning_rate == Schedule(0.1));
    EntropyOptions again;
    REQUIRE_OK(ReadFields(testing::Printed(options), &again));
    CHECK(again.target == options.target);
    CHECK(again.weight == options.weight);
  }
}

TEST_CASE("a learned weight can neither be a schedule nor begin with zero", "[unit]") {
  EntropyOptions options;
  options.target = 1;
  for (const Schedule& weight : {Schedule(0), Schedule::Linear(0.2, 0.1)}) {
    options.weight = weight;
    const absl::Status status = options.Validate();
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::StartsWith("weight: beside a target"));
  }
  options.weight = 0.1;
  REQUIRE_OK(options.Validate());
  options.target.reset();
  options.weight = 0;
  REQUIRE_OK(options.Validate());
}

TEST_CASE("the rule stages has a weight that moves without a target, and an optimizer means nothing to it", "[unit]") {
  EntropyOptions options;
  REQUIRE_OK(ReadFields("rule: stages\nweight: 0.25\nstages: {window: 5}", &options));
  REQUIRE_OK(Check(options));
  REQUIRE_OK(options.Validate());
  CHECK(options.stages.window == 5);
  REQUIRE(EntropyScalars(options).size() == 1);
  CHECK(EntropyScalars(options)[0].initial == Approx(std::log(0.25)));
  options.weight = 0;
  CHECK_THAT(std::string(options.Validate().message()), Catch::StartsWith("weight: with the rule stages"));
  const auto message = [](const char* yaml) {
    EntropyOptions read;
    return std::string(ReadFields(yaml, &read).message());
  };
  CHECK_THAT(message("rule: stages\ntarget: 1\noptimizer: {learning_rate: 0.1}"),
             Catch::Contains("optimizer: means nothing to the rule stages"));
  CHECK_THAT(message("stages: {window: 5}"), Catch::Contains("stages: means nothing to the rule gradient"));
}

}  // namespace
}  // namespace waggle
