#include "common/experiment/spec_options.h"

#include <string>

#include "common/config/config_reader.h"
#include "common/config/config_writer.h"
#include "common/config/yaml_file.h"
#include "common/experiment/sections.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

absl::StatusOr<EnvironmentOptions> Read(const std::string& yaml) {
  const YamlNode root = testing::ValueOf(ParseYaml(yaml, "x"));
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  EnvironmentOptions options;
  reader.Section("environment", &options);
  reader.Finish();
  if (errors.count() > 0) {
    return errors.ToStatus();
  }
  return options;
}

constexpr char kSpaces[] =
    "environment:\n"
    "  name: Null-v1\n"
    "  spec:\n"
    "    observations:\n"
    "      - {name: a/observation/camera, dtype: int16, shape: [2, 3], low: -5, high: 7}\n"
    "      - {name: a/observation/lamps, kind: multi-binary, shape: [4]}\n"
    "      - {name: a/action_mask, kind: multi-binary, shape: [5]}\n"
    "    actions: [{name: a/action, kind: multi-discrete, num_values: [2, 3]}]\n"
    "    rewards: [{name: a/reward, shape: [2]}]\n"
    "    max_episode_steps: 9\n";

TEST_CASE("the spec of the null environment is as the configuration says", "[unit]") {
  EnvironmentSpec expected;
  expected.name = "Null-v1";
  expected.observations = {Box("a/observation/camera", DType::kInt16, {2, 3}, -5, 7),
                           MultiBinary("a/observation/lamps", {4}), MultiBinary("a/action_mask", {5})};
  expected.actions = {MultiDiscrete("a/action", {2, 3})};
  expected.rewards = {ArraySpec{"a/reward", DType::kFloat32, {2}}};
  expected.max_episode_steps = 9;
  EnvironmentOptions options = testing::ValueOf(Read(kSpaces));
  CHECK(options.spec.Spec() == expected);
  // The written text reads back as the same spec.
  ConfigWriter writer;
  writer.Section("environment", &options);
  CHECK(testing::ValueOf(Read(writer.text())).spec.Spec() == expected);
}

TEST_CASE("by default the null environment has the frames and the choices of an Atari game", "[unit]") {
  const EnvironmentSpec spec = testing::ValueOf(Read("environment: {name: Null-v1}\n")).spec.Spec();
  REQUIRE_OK(spec.Validate());
  CHECK(spec.observations == std::vector<SpaceLeaf>{Box("observation", DType::kUint8, {4, 84, 84}, 0, 255)});
  CHECK(spec.actions == std::vector<SpaceLeaf>{Discrete("action", 6)});
}

TEST_CASE("a wrong spec is refused", "[unit]") {
  const auto problems = [](const std::string& environment) {
    return std::string(Read("environment: " + environment + "\n").status().message());
  };
  const std::string null = "{name: Null-v1, spec: ";
  CHECK_THAT(problems("{name: CartPole-v1, spec: {max_episode_steps: 1}}"), Catch::Contains("spec"));
  CHECK_THAT(problems(null + "{max_episode_steps: 0}}"), Catch::Contains("max_episode_steps"));
  CHECK_THAT(problems(null + "{observations: [{name: observation, low: 1}]}}"), Catch::Contains("high: is missing"));
  CHECK_THAT(problems(null + "{observations: [{name: observation, high: 1}]}}"), Catch::Contains("low: is missing"));
  CHECK_THAT(problems(null + "{observations: [{name: observation, low: 2, high: 1}]}}"), Catch::Contains("low < high"));
  CHECK_THAT(problems(null + "{observations: [{name: observation, dtype: float16}]}}"), Catch::Contains("float32"));
  CHECK_THAT(problems(null + "{actions: [{name: action, kind: discrete, num_values: [2, 2]}]}}"),
             Catch::Contains("wanted one"));
  CHECK_THAT(problems(null + "{actions: [{name: action, kind: discrete, dtype: int64, num_values: [2]}]}}"),
             Catch::Contains("dtype"));
  CHECK_THAT(problems(null + "{actions: [{name: do_it}]}}"), Catch::Contains("do_it"));
  CHECK_THAT(problems(null + "{actions: []}}"), Catch::Contains("action"));
}

}  // namespace
}  // namespace waggle
