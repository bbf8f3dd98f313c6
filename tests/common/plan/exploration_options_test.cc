#include "common/plan/exploration_options.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/config/config_reader.h"
#include "common/config/config_writer.h"
#include "common/config/field_checker.h"
#include "common/config/yaml_file.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

absl::Status Read(const std::string& yaml, ExplorationOptions* options) {
  const YamlNode root = testing::ValueOf(ParseYaml(yaml, "exploration.yaml"));
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  options->Visit(reader);
  reader.Finish();
  return errors.ToStatus();
}

std::string Printed(ExplorationOptions options) {
  ConfigWriter writer;
  options.Visit(writer);
  return writer.text();
}

TEST_CASE("the default explores nothing", "[unit]") {
  REQUIRE_OK(Check(ExplorationOptions()));
  CHECK(Printed(ExplorationOptions()) == "type: none\nwarm_up_steps: 0\n");
}

TEST_CASE("every type of exploration has keys of its own, and another's is refused", "[unit]") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> types = {
      {"none", {"warm_up_steps: 7"}},
      {"epsilon_greedy", {"warm_up_steps: 7", "epsilon: 0.25", "ladder_exponent: 6"}},
      {"boltzmann", {"warm_up_steps: 7", "temperature: 2"}},
      {"gaussian", {"warm_up_steps: 7", "sigma: 0.3"}},
      {"ornstein_uhlenbeck", {"warm_up_steps: 7", "sigma: 0.3", "theta: 0.5", "time_step: 0.1"}}};
  for (const auto& [type, lines] : types) {
    INFO(type);
    std::string yaml = "type: " + type + "\n";
    for (const std::string& line : lines) {
      yaml += line + "\n";
    }
    ExplorationOptions options;
    REQUIRE_OK(Read(yaml, &options));
    REQUIRE_OK(Check(options));
    CHECK(Printed(options) == yaml);  // And so the printed text reads back as the same.
    for (const auto& [other, others] : types) {
      for (const std::string& line : others) {
        if (yaml.find(line) == std::string::npos) {
          INFO(line);
          const absl::Status refused = Read(yaml + line, &options);
          REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
          CHECK_THAT(
              std::string(refused.message()),
              Catch::Contains(line.substr(0, line.find(':')) + ": means nothing to the exploration " + type + "; "));
        }
      }
    }
  }
}

TEST_CASE("epsilon, temperature and sigma may be schedules", "[unit]") {
  ExplorationOptions options;
  REQUIRE_OK(Read("type: epsilon_greedy\nepsilon: {from: 1, to: 0.05, of: env_steps, until: 1000}", &options));
  CHECK(options.epsilon == Schedule::Linear(1, 0.05, Schedule::Clock::kEnvSteps, 1000));
  REQUIRE_OK(Read("type: boltzmann\ntemperature: {from: 1, to: 0.1}", &options));
  CHECK(options.temperature.moves());
  REQUIRE_OK(Read("type: gaussian\nsigma: {from: 0.5, to: 0}", &options));
  CHECK(options.sigma.moves());
}

TEST_CASE("exploration out of its range is refused with the key, the value and the wanted range", "[unit]") {
  const auto message = [](const std::string& yaml) {
    ExplorationOptions options;
    const absl::Status status = Read(yaml, &options);
    CHECK(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  CHECK_THAT(message("type: epsilon_gredy"),
             Catch::Contains("type: got \"epsilon_gredy\"") && Catch::Contains("did you mean \"epsilon_greedy\"?"));
  CHECK_THAT(message("warm_up_steps: -1"), Catch::Contains("warm_up_steps: got the number -1"));
  CHECK_THAT(message("type: epsilon_greedy\nepsilon: 1.5"), Catch::Contains("epsilon: got the number 1.5"));
  CHECK_THAT(message("type: epsilon_greedy\nepsilon: {from: 2, to: 0}"),
             Catch::Contains("epsilon.from: got the number 2"));
  CHECK_THAT(message("type: boltzmann\ntemperature: 0"), Catch::Contains("temperature: got the number 0"));
  CHECK_THAT(message("type: gaussian\nsigma: -0.1"), Catch::Contains("sigma: got the number -0.1"));
  CHECK_THAT(message("type: ornstein_uhlenbeck\ntime_step: 0"), Catch::Contains("time_step: got the number 0"));
  ExplorationOptions options;
  options.type = "gaussian";
  options.sigma = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(std::string(Check(options).message()), Catch::StartsWith("sigma: got "));
}

}  // namespace
}  // namespace waggle
