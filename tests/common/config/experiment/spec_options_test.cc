#include "common/config/experiment/spec_options.h"

#include <string>
#include <utility>

#include "common/config/config_writer.h"
#include "common/config/experiment/sections.h"
#include "tests/support/config_text.h"

namespace waggle {
namespace {

absl::StatusOr<EnvironmentOptions> Read(const std::string& yaml) {
  EnvironmentOptions options;
  const absl::Status read = testing::ReadSection("environment", yaml, &options);
  return read.ok() ? absl::StatusOr<EnvironmentOptions>(options) : read;
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

TEST_CASE("a wrong spec is refused with the mistake", "[unit]") {
  constexpr std::pair<const char*, const char*> kWrong[] = {
      {"name: CartPole-v1, spec: {max_episode_steps: 1}", "spec"},
      {"name: Null-v1, spec: {max_episode_steps: 0}", "max_episode_steps: "},
      {"name: Null-v1, spec: {observations: [{name: observation, low: 1}]}", "high: is missing"},
      {"name: Null-v1, spec: {observations: [{name: observation, high: 1}]}", "low: is missing"},
      {"name: Null-v1, spec: {observations: [{name: observation, low: 2, high: 1}]}", "low"},
      {"name: Null-v1, spec: {observations: [{name: observation, dtype: float16}]}", "dtype: "},
      {"name: Null-v1, spec: {actions: [{name: action, kind: discrete, num_values: [2, 2]}]}", "num_values: "},
      {"name: Null-v1, spec: {actions: [{name: action, kind: discrete, dtype: int64, num_values: [2]}]}", "dtype: "},
      {"name: Null-v1, spec: {actions: [{name: do_it}]}", "do_it"},
      {"name: Null-v1, spec: {actions: []}", "action"}};
  for (const auto& [keys, wrong] : kWrong) {
    INFO(keys);
    const absl::Status status = Read("environment: {" + std::string(keys) + "}\n").status();
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains(wrong));
  }
}

}  // namespace
}  // namespace waggle
