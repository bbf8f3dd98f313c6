#include "cli/checked_experiment.h"

#include <filesystem>
#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::ValueOf;

const std::string kCartPole = std::string(WAGGLE_TEST_CONFIG_DIR) + "/cartpole_apex_dqn.yaml";

TEST_CASE("Every experiment that ships passes every check", "[unit]") {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(WAGGLE_TEST_CONFIG_DIR)) {
    INFO(file.path());
    REQUIRE_OK(LoadCheckedExperiment(file.path().string(), {}));
    ++count;
  }
  CHECK(count > 0);
}

TEST_CASE("The environment's facts come with the experiment", "[unit]") {
  const CheckedExperiment checked = ValueOf(LoadCheckedExperiment(kCartPole, {}));
  CHECK(checked.environment.name == "CartPole-v1");
  CHECK(checked.environment.action.num_values == 2);
}

TEST_CASE("What is wrong is said with the file and the key", "[unit]") {
  const auto error = [](const std::string& key, const std::string& value) {
    return std::string(LoadCheckedExperiment(kCartPole, {{key, value}}).status().message());
  };
  CHECK(error("learner.bach_size", "3") ==
        "--set learner.bach_size=3: learner.bach_size: unknown key; did you mean \"batch_size\"?");
  CHECK(error("environment.name", "CartPol-v1")
            .find("--set environment.name=CartPol-v1: environment.name: no environment named "
                  "\"CartPol-v1\"; did you mean \"CartPole-v1\"?") == 0);
  CHECK(error("network.torso[0].type", "conv").find(kCartPole + ": network for CartPole-v1: ") == 0);
  CHECK(error("replay.compression", "[{column: x}]") ==
        "--set replay.compression=[{column: x}]: replay.compression: no column named \"x\"");
  CHECK(LoadCheckedExperiment("/no/such.yaml", {}).status().code() == absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace waggle
