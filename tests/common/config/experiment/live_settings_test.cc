#include "common/config/experiment/live_settings.h"

#include "common/config/experiment/live_exploration.h"
#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::FakeAlgorithms;
using testing::ValueOf;

constexpr char kYaml[] = "algorithm: {name: fake}\nstop: {max_env_steps: 10}\n";

using Wanted = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<ChangedSettings> Change(const std::string& settings, const Wanted& wanted, const char* yaml = kYaml) {
  return ChangeSettings(yaml, settings, wanted, FakeAlgorithms());
}

std::string Refusal(const Wanted& wanted) {
  const absl::Status status = Change("", wanted).status();
  CHECK(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST_CASE("numbers are set one after the other, and the last value of each counts", "[unit]") {
  const ChangedSettings first = ValueOf(Change("", {{"algorithm.exploration.epsilon", "5e-1"}}));
  CHECK(first.settings == "algorithm.exploration.epsilon=0.5\n");
  REQUIRE(first.changes.size() == 1);
  CHECK(first.changes[0].key == "algorithm.exploration.epsilon");
  CHECK(first.changes[0].from == "0.1");
  CHECK(first.changes[0].to == "0.5");
  const ChangedSettings second = ValueOf(
      Change(first.settings, {{"algorithm.optimizer.learning_rate", "{points: [[0, 1e-3], [9, 0]], of: env_steps}"},
                              {"algorithm.exploration.epsilon", "0.25"}}));
  CHECK(second.settings ==
        "algorithm.exploration.epsilon=0.25\n"
        "algorithm.optimizer.learning_rate={points: [[0, 0.001], [9, 0]], of: env_steps}\n");
  REQUIRE(second.changes.size() == 2);
  CHECK(second.changes[0].from == "0.5");
  CHECK(second.changes[1].from == "0.001");
  const Experiment again = ValueOf(ParseWithSettings(kYaml, "x", second.settings, FakeAlgorithms()));
  CHECK(ToYaml(again) == ToYaml(second.experiment));
  CHECK_THAT(ToYaml(again), Catch::Contains("points: [[0, 0.001], [9, 0]]") && Catch::Contains("epsilon: 0.25\n"));
  CHECK(ToYaml(ValueOf(WithSettings(first.experiment, second.settings, FakeAlgorithms()))) == ToYaml(again));
}

TEST_CASE("a number that is set to its value is no change", "[unit]") {
  CHECK(ValueOf(Change("", {{"algorithm.exploration.epsilon", "1e-1"}})).changes.empty());
}

TEST_CASE("a key that cannot change is refused with the keys that can", "[unit]") {
  CHECK(Refusal({{"algorithm.n_step", "2"}}) ==
        "algorithm.n_step: is no key that can change while the experiment runs; wanted one of "
        "algorithm.exploration.epsilon, "
        "algorithm.exploration.ladder_exponent, algorithm.optimizer.gradient_clip_norm, "
        "algorithm.optimizer.learning_rate");
  CHECK_THAT(Refusal({{"algorithm.optimizer.learning_rat", "2"}}),
             Catch::EndsWith("did you mean \"algorithm.optimizer.learning_rate\"?"));
  CHECK_THAT(Refusal({{"learner.batch_size", "2"}, {"algorithm.discount", "1"}}),
             Catch::StartsWith("learner.batch_size: is no key") && Catch::Contains("\nalgorithm.discount: is no key"));
  for (const char* const key : {"", "algorithm", "algorithm.optimizer", "algorithm.exploration.temperature", "a..b"}) {
    CHECK_THAT(Refusal({{key, "1"}}), Catch::StartsWith(std::string(key) + ": is no key that can change"));
  }
}

TEST_CASE("a wrong value is refused as in a file", "[unit]") {
  CHECK(Refusal({{"algorithm.exploration.epsilon", "2"}}) ==
        "algorithm.exploration.epsilon: got the number 2; wanted a number in [0, 1]");
  CHECK_THAT(Refusal({{"algorithm.optimizer.learning_rate", "{from: 1, to: 20}"}}),
             Catch::StartsWith("algorithm.optimizer.learning_rate.to: got the number 20; wanted"));
  CHECK_THAT(Refusal({{"algorithm.optimizer.learning_rate", "fast"}}),
             Catch::StartsWith("algorithm.optimizer.learning_rate: got "));
  for (const char* const text : {"", "[", "1\n2", "1\n---\n2", "{from: 1}"}) {
    INFO(text);
    CHECK_FALSE(Change("", {{"algorithm.optimizer.learning_rate", text}}).ok());
  }
}

TEST_CASE("numbers of a deterministic experiment cannot be set", "[unit]") {
  const absl::Status refused = Change("", {{"algorithm.exploration.epsilon", "0.5"}},
                                      "experiment: {deterministic: true}\nalgorithm: {name: fake}\n"
                                      "replay: {rate_limiter: {samples_per_insert: 1}}\nstop: {max_env_steps: 10}\n")
                                   .status();
  REQUIRE_CODE(refused, absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(refused.message()), Catch::StartsWith("experiment.deterministic: got true; wanted false"));
}

TEST_CASE("settings of another form are refused", "[unit]") {
  CHECK_FALSE(ParseWithSettings(kYaml, "x", "no assignment", FakeAlgorithms()).ok());
  CHECK_FALSE(ParseWithSettings(kYaml, "x", "algorithm.exploration.epsilon=7", FakeAlgorithms()).ok());
}

TEST_CASE("exploration follows the settings, and is given once for each", "[unit]") {
  LiveExploration exploration(ValueOf(ParseWithSettings(kYaml, "x", "", FakeAlgorithms())),
                              testing::FakeEnvironmentSpec(), FakeAlgorithms());
  CHECK_FALSE(ValueOf(exploration.Take("")).has_value());
  CHECK(ValueOf(exploration.Take("algorithm.exploration.epsilon=0.5\n"))->epsilon == Schedule(0.5));
  CHECK_FALSE(ValueOf(exploration.Take("algorithm.exploration.epsilon=0.5\n")).has_value());
  CHECK_FALSE(exploration.Take("algorithm.exploration.epsilon=7\n").ok());
  CHECK(ValueOf(exploration.Take(""))->epsilon == Schedule(0.1));
}

}  // namespace
}  // namespace waggle
