#include "actor/environments/plugin/environment_plugin.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

constexpr char kLibrary[] = WAGGLE_CORRIDOR_PLUGIN;

TEST_CASE("An environment of a plug-in is stepped like a built-in one", "[unit]") {
  const EnvironmentDefinition definition = ValueOf(LoadEnvironmentPlugin(kLibrary, "Corridor", "{}"));
  const EnvironmentSpec spec = ValueOf(definition.spec(EnvironmentOptions()));
  CHECK(spec.name == "Corridor");
  CHECK(spec.observations[0].array.shape == std::vector<int64_t>{8});
  const auto environment = ValueOf(definition.create(EnvironmentOptions(), 1));
  float observation[8];
  void* const observations[] = {observation};
  REQUIRE_OK(environment->Reset(observations));
  const int64_t on = 1;
  const void* const actions[] = {&on};
  float reward = -1;
  for (int cell = 1; cell < 8; ++cell) {
    const StepOutcome outcome = ValueOf(environment->Step(actions, observations, &reward));
    CHECK(observation[cell] == 1);
    CHECK(outcome.terminated == (cell == 7));
    CHECK(reward == (cell == 7 ? 1 : 0));
  }
  REQUIRE_CODE(environment->Step(actions, observations, &reward), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("A plug-in is given its options", "[unit]") {
  const EnvironmentDefinition definition = ValueOf(LoadEnvironmentPlugin(kLibrary, "Corridor", R"({"cells":12})"));
  CHECK(ValueOf(definition.spec(EnvironmentOptions())).observations[0].array.shape == std::vector<int64_t>{12});
}

TEST_CASE("A plug-in's error is returned with its message", "[unit]") {
  const auto options = LoadEnvironmentPlugin(kLibrary, "Corridor", R"({"cells":1})");
  REQUIRE_CODE(options, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(options.status().message()), Catch::Contains("cells: got 1"));
  REQUIRE_CODE(LoadEnvironmentPlugin(kLibrary, "Maze", "{}"), absl::StatusCode::kInvalidArgument);
  const auto environment = ValueOf(ValueOf(LoadEnvironmentPlugin(kLibrary, "Corridor", "{}")).create({}, 1));
  float observation[8];
  void* const observations[] = {observation};
  REQUIRE_OK(environment->Reset(observations));
  const int64_t wrong = 2;
  const void* const actions[] = {&wrong};
  float reward = 0;
  CHECK_THAT(std::string(environment->Step(actions, observations, &reward).status().message()),
             Catch::Contains("action: got 2"));
}

TEST_CASE("A file that is not a plug-in is refused", "[unit]") {
  REQUIRE_CODE(LoadEnvironmentPlugin("/no/such/library.so", "Corridor", "{}"), absl::StatusCode::kNotFound);
  REQUIRE_CODE(LoadEnvironmentPlugin("libm.so.6", "Corridor", "{}"), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace waggle::testing
