#include "common/config/plan/exploration_options.h"

#include <string>
#include <utility>
#include <vector>

#include "common/config/field_checker.h"
#include "tests/support/config_text.h"

namespace waggle {
namespace {

using testing::Printed;
using testing::ReadFields;

TEST_CASE("every type of exploration has keys of its own, and another's is refused", "[unit]") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> types = {
      {"none", {"warm_up_steps: 7"}},
      {"epsilon_greedy", {"warm_up_steps: 7", "epsilon: 0.25", "ladder_exponent: 6"}},
      {"boltzmann", {"warm_up_steps: 7", "temperature: 2"}},
      {"gaussian", {"warm_up_steps: 7", "ladder_exponent: 6", "sigma: 0.3", "mean: 0.1", "random_share: 0.2"}},
      {"clipped_gaussian",
       {"warm_up_steps: 7", "ladder_exponent: 6", "sigma: 0.3", "mean: 0.1", "low: -0.5", "high: 0.4",
        "random_share: 0.2"}},
      {"moving_average", {"warm_up_steps: 7", "ladder_exponent: 6", "sigma: 0.3", "mean: 0.1", "random_share: 0.2"}},
      {"uniform", {"warm_up_steps: 7", "low: -0.5", "high: 0.4", "random_share: 0.2"}},
      {"ornstein_uhlenbeck",
       {"warm_up_steps: 7", "ladder_exponent: 6", "sigma: 0.3", "mean: 0.1", "theta: 0.5", "time_step: 0.1",
        "initial: -0.4", "random_share: 0.2"}}};
  for (const auto& [type, lines] : types) {
    INFO(type);
    std::string yaml = "type: " + type + "\n";
    for (const std::string& line : lines) {
      yaml += line + "\n";
    }
    ExplorationOptions options;
    REQUIRE_OK(ReadFields(yaml, &options));
    REQUIRE_OK(Check(options));
    CHECK(options.AddsNoise() == (yaml.find("random_share") != std::string::npos));
    CHECK(Printed(options) == yaml);  // And so the printed text reads back as the same.
    for (const auto& [other, others] : types) {
      for (const std::string& line : others) {
        if (yaml.find(line) == std::string::npos) {
          INFO(line);
          const absl::Status refused = ReadFields(yaml + line, &options);
          REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
          CHECK_THAT(
              std::string(refused.message()),
              Catch::Contains(line.substr(0, line.find(':')) + ": means nothing to the exploration " + type + "; "));
        }
      }
    }
  }
}

TEST_CASE("by_action is a type only of options whose default it is, without keys of other types", "[unit]") {
  ExplorationOptions by_action;
  by_action.type = ExplorationOptions::kByAction;
  const std::string yaml = "type: by_action\nwarm_up_steps: 7\n";
  ExplorationOptions options = by_action;
  REQUIRE_OK(ReadFields("warm_up_steps: 7", &options));
  CHECK(Printed(options) == yaml);
  options = by_action;
  REQUIRE_OK(ReadFields(yaml, &options));
  REQUIRE_OK(Check(options));
  CHECK_FALSE(options.AddsNoise());
  options = by_action;
  CHECK_FALSE(ReadFields("sigma: 0.1", &options).ok());
  options = by_action;
  REQUIRE_OK(ReadFields("type: gaussian\nsigma: 0.1", &options));
  CHECK(options.type == "gaussian");
  ExplorationOptions others;
  const absl::Status refused = ReadFields(yaml, &others);
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("type: got \"by_action\"; wanted one of none, "));
}

TEST_CASE("epsilon, temperature and sigma may be schedules", "[unit]") {
  ExplorationOptions options;
  REQUIRE_OK(ReadFields("type: epsilon_greedy\nepsilon: {from: 1, to: 0.05, of: env_steps, until: 1000}", &options));
  CHECK(options.epsilon == Schedule::Linear(1, 0.05, Schedule::Clock::kEnvSteps, 1000));
  REQUIRE_OK(ReadFields("type: boltzmann\ntemperature: {from: 1, to: 0.1}", &options));
  CHECK(options.temperature.moves());
  REQUIRE_OK(ReadFields("type: gaussian\nsigma: {from: 0.5, to: 0}", &options));
  CHECK(options.sigma.moves());
}

TEST_CASE("exploration out of its range is refused with the key", "[unit]") {
  constexpr std::pair<const char*, const char*> kWrong[] = {
      {"type: epsilon_gredy", "type: "},
      {"warm_up_steps: -1", "warm_up_steps: "},
      {"type: epsilon_greedy\nepsilon: 1.5", "epsilon: "},
      {"type: epsilon_greedy\nepsilon: {from: 2, to: 0}", "epsilon.from: "},
      {"type: boltzmann\ntemperature: 0", "temperature: "},
      {"type: gaussian\nsigma: -0.1", "sigma: "},
      {"type: gaussian\nrandom_share: 1.1", "random_share: "},
      {"type: uniform\nlow: 0.1", "low: "},
      {"type: clipped_gaussian\nhigh: -0.1", "high: "},
      {"type: ornstein_uhlenbeck\ntime_step: 0", "time_step: "}};
  for (const auto& [yaml, key] : kWrong) {
    INFO(yaml);
    ExplorationOptions options;
    const absl::Status status = ReadFields(yaml, &options);
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains(key));
  }
}

}  // namespace
}  // namespace waggle
