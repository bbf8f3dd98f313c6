#include "param_server/experiments/later_limits.h"

#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::FakeAlgorithms;
using testing::ValueOf;

constexpr char kYaml[] = "algorithm: {name: fake}\nstop: {max_env_steps: 10, target_return: 5}\n";

absl::StatusOr<ChangedSettings> Change(const std::string& settings, const SettingValues& wanted,
                                       const char* yaml = kYaml) {
  return ChangeLimits(yaml, settings, wanted, FakeAlgorithms());
}

TEST_CASE("later limits are settings beside numbers that were set", "[unit]") {
  const ChangedSettings first = ValueOf(Change("algorithm.exploration.epsilon=0.5\n", {{"stop.max_env_steps", "1e3"}}));
  CHECK(first.settings == "algorithm.exploration.epsilon=0.5\nstop.max_env_steps=1000\n");
  REQUIRE(first.changes.size() == 1);
  CHECK(first.changes[0].key == "stop.max_env_steps");
  CHECK(first.changes[0].from == "10");
  CHECK(first.changes[0].to == "1000");
  CHECK(first.experiment.stop.max_env_steps == 1000);
  const ChangedSettings second =
      ValueOf(Change(first.settings, {{"stop.target_return", "7.25"}, {"stop.max_seconds", "3600.5"}}));
  CHECK(second.experiment.stop.max_env_steps == 1000);
  CHECK(second.experiment.stop.target_return == 7.25);
  CHECK(second.experiment.stop.max_seconds == 3600.5);
  const Experiment again = ValueOf(ParseWithSettings(kYaml, "x", second.settings, FakeAlgorithms()));
  CHECK(ToYaml(again) == ToYaml(second.experiment));
  // Numbers can be set after that, and keep the limits.
  const ChangedSettings live =
      ValueOf(ChangeSettings(kYaml, second.settings, {{"algorithm.exploration.epsilon", "0.25"}}, FakeAlgorithms()));
  CHECK(live.experiment.stop.max_env_steps == 1000);
}

TEST_CASE("a target can be taken away if another limit is left", "[unit]") {
  const ChangedSettings changed = ValueOf(Change("", {{"stop.target_return", "null"}}));
  CHECK(changed.experiment.stop.target_return == std::nullopt);
  CHECK(ValueOf(ParseWithSettings(kYaml, "x", changed.settings, FakeAlgorithms())).stop.target_return == std::nullopt);
  const absl::Status endless = Change("", {{"stop.target_return", "null"}, {"stop.max_env_steps", "0"}}).status();
  REQUIRE_CODE(endless, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(endless.message()), Catch::Contains("stop"));
}

TEST_CASE("other keys, wrong values and deterministic experiments are refused", "[unit]") {
  for (const auto& [key, value] : SettingValues{{"stop.max_env_step", "10"},
                                                {"algorithm.exploration.epsilon", "0.5"},
                                                {"stop.max_env_steps", "-1"},
                                                {"stop.max_seconds", "soon"}}) {
    INFO(key);
    const absl::Status refused = Change("", {{key, value}}).status();
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(refused.message()), Catch::Contains(key) && !Catch::Contains("--set"));
  }
  const absl::Status deterministic =
      Change("", {{"stop.max_env_steps", "20"}},
             "experiment: {deterministic: true}\nalgorithm: {name: fake}\n"
             "replay: {rate_limiter: {samples_per_insert: 1}}\nstop: {max_env_steps: 10}\n")
          .status();
  REQUIRE_CODE(deterministic, absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(deterministic.message()), Catch::StartsWith("experiment.deterministic: "));
  const SettingValues twice = {{"stop.max_env_steps", "20"}, {"stop.max_env_steps", "30"}};
  REQUIRE_CODE(Change("", twice).status(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a run goes on only if it has reached none of its limits", "[unit]") {
  StopOptions stop;
  stop.max_env_steps = 100;
  stop.max_learner_steps = 50;
  stop.max_seconds = 10;
  stop.target_return = 7;
  REQUIRE_OK(CheckGoesOn(stop, {99, 49, absl::Seconds(9), std::nullopt}));
  REQUIRE_OK(CheckGoesOn(stop, {99, 49, absl::Seconds(9), 6.5}));
  const auto refusal = [&stop](const RunReach& reach) {
    const absl::Status refused = CheckGoesOn(stop, reach);
    REQUIRE_CODE(refused, absl::StatusCode::kFailedPrecondition);
    return std::string(refused.message());
  };
  CHECK_THAT(refusal({100, 0, absl::Seconds(0), std::nullopt}), Catch::Contains("--max-env-steps"));
  CHECK_THAT(refusal({0, 50, absl::Seconds(0), std::nullopt}), Catch::Contains("--max-learner-steps"));
  CHECK_THAT(refusal({0, 0, absl::Seconds(10), std::nullopt}), Catch::Contains("--max-seconds"));
  CHECK_THAT(refusal({0, 0, absl::Seconds(0), 7}), Catch::Contains("--target-return"));
  stop = StopOptions();
  REQUIRE_OK(CheckGoesOn(stop, {100, 50, absl::Seconds(10), 8}));
}

}  // namespace
}  // namespace waggle
