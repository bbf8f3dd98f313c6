#include "actor/environments/environment.h"
#include "tests/support/catch.h"
#include "tests/support/environment_conformance.h"

namespace waggle {
namespace {

TEST_CASE("every built-in environment keeps the promises of an environment", "[unit]") {
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  REQUIRE_FALSE(definitions.Names().empty());
  for (const std::string& name : definitions.Names()) {
    EnvironmentOptions options;
    options.name = name;
    testing::CheckEnvironment(name, *testing::ValueOf(definitions.Find(name)), options);
  }
}

TEST_CASE("an unknown environment is refused with the nearest known one", "[unit]") {
  const auto found = BuiltinEnvironments().Find("CartPole-v0");
  REQUIRE_CODE(found, absl::StatusCode::kNotFound);
  REQUIRE_THAT(std::string(found.status().message()), Catch::Contains("did you mean \"CartPole-v1\""));
}

}  // namespace
}  // namespace waggle
