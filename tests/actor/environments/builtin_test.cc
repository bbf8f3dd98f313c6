#include "actor/environments/environment.h"
#include "tests/support/catch.h"
#include "tests/support/environment_conformance.h"

namespace waggle {
namespace {

TEST_CASE("every built-in environment keeps the promises of an environment", "[unit]") {
  const std::vector<std::string> names = BuiltinEnvironments().Names();
  REQUIRE_FALSE(names.empty());
  for (const std::string& name : names) {
    testing::CheckBuiltin(name, "{}");
  }
}

TEST_CASE("every built-in environment refuses an option that it does not have, by its name", "[unit]") {
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  for (const std::string& name : definitions.Names()) {
    INFO(name);
    EnvironmentOptions options;
    options.name = name;
    options.options = R"({"no_such_option": 1})";
    const EnvironmentDefinition& definition = *testing::ValueOf(definitions.Find(name));
    for (const absl::Status& refused : {definition.spec(options).status(), definition.create(options, 1).status()}) {
      REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
      CHECK_THAT(std::string(refused.message()), Catch::Contains("environment.options: no_such_option: unknown key"));
    }
  }
}

TEST_CASE("options that are out of range are refused by their names, all at once", "[unit]") {
  EnvironmentOptions options;
  options.options = R"({"gravity": -1, "max_episode_steps": 0, "force": "big"})";
  const absl::Status refused = (*testing::ValueOf(BuiltinEnvironments().Find("CartPole-v1"))).spec(options).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  const std::string message(refused.message());
  CHECK_THAT(message, Catch::Contains("environment.options: gravity: ") && Catch::Contains("in [0, 100]"));
  CHECK_THAT(message, Catch::Contains("environment.options: max_episode_steps: "));
  CHECK_THAT(message, Catch::Contains("environment.options: force: "));
}

TEST_CASE("an unknown environment is refused with the nearest known one", "[unit]") {
  const auto found = BuiltinEnvironments().Find("CartPole-v0");
  REQUIRE_CODE(found, absl::StatusCode::kNotFound);
  REQUIRE_THAT(std::string(found.status().message()), Catch::Contains("did you mean \"CartPole-v1\""));
}

}  // namespace
}  // namespace waggle
