#include "cli/play/named_environment.h"

#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A named environment has the values that replace its defaults", "[unit]") {
  const EnvironmentOptions options =
      testing::ValueOf(NamedEnvironment("Pendulum-v1", {{"environment.options.gravity", "3"}}));
  CHECK(options.name == "Pendulum-v1");
  CHECK(options.options == R"({"gravity":3})");
  const auto refused = NamedEnvironment("Pendulum-v1", {{"environment.optoins.x", "1"}});
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.status().message()), Catch::Contains("did you mean \"options\""));
}

}  // namespace
}  // namespace waggle
