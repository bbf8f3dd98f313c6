#include "actor/environments/open_environment.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "actor/environments/transforms/apply_transforms.h"
#include "common/base/process/find_program.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/config_text.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

TEST_CASE("A built-in environment is opened in this process", "[unit]") {
  LaneOptions lanes;
  lanes.lanes = 3;
  const auto environment =
      ValueOf(OpenEnvironment(BuiltinEnvironments(), EnvironmentOptions(), lanes, Rng(1), StopToken()));
  CHECK(environment->lanes() == 3);
  CHECK(environment->spec().name == "CartPole-v1");
  CHECK(environment->health().processes == 0);
  EnvironmentOptions unknown;
  unknown.name = "CartPole-v9";
  REQUIRE_CODE(OpenEnvironment(BuiltinEnvironments(), unknown, lanes, Rng(1), StopToken()),
               absl::StatusCode::kNotFound);
}

TEST_CASE("An experiment's transforms are applied to its environment, and an evaluator's rewards are raw", "[unit]") {
  EnvironmentOptions options;
  REQUIRE_OK(testing::ReadSection(
      "environment",
      "environment:\n"
      "  name: Catch-v0\n"
      "  options: {size: 84}\n"
      "  transforms: [frame_stack, {reward: {clip: {min: -0.5, max: 0.5}}}, {time_limit: {steps: 5}}]\n",
      &options));
  LaneOptions lanes;
  lanes.raw_rewards = GENERATE(false, true);
  const auto environment = ValueOf(OpenEnvironment(BuiltinEnvironments(), options, lanes, Rng(1), StopToken()));
  CHECK(environment->spec().observations ==
        std::vector<SpaceLeaf>{Box("observation", DType::kUint8, {4, 84, 84}, 0, 255)});
  CHECK(environment->spec().max_episode_steps == 5);
  const EnvironmentDefinition definition = *ValueOf(BuiltinEnvironments().Find("Catch-v0"));
  CHECK(environment->spec() == ValueOf(TransformSpec(ValueOf(definition.spec(options)), options)));
  REQUIRE_OK(environment->Reset());
  ReadyLanes ready = ValueOf(environment->Recv(1, StopToken()));
  CHECK(environment->spec().observations.size() == ready.observations.size());
  for (int step = 0; step < 5; ++step) {
    CHECK(ready.step_types[0] != static_cast<int32_t>(StepType::kLast));
    const int64_t action = 1;
    REQUIRE_OK(environment->Send({0}, {&action}));
    ready = ValueOf(environment->Recv(1, StopToken()));
  }
  CHECK(ready.step_types[0] == static_cast<int32_t>(StepType::kLast));
  CHECK(ready.discounts[0] == 1);
  CHECK((ready.raw_rewards == nullptr) == lanes.raw_rewards);
  options.transforms = R"(["one_hot"])";
  REQUIRE_CODE(OpenEnvironment(BuiltinEnvironments(), options, lanes, Rng(1), StopToken()),
               absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Transforms do not change an environment's random numbers", "[unit]") {
  EnvironmentOptions plain;
  EnvironmentOptions sticky;
  sticky.transforms = R"(["sticky_actions"])";
  const auto first_row = [](const EnvironmentOptions& options) {
    const auto environment = ValueOf(OpenEnvironment(BuiltinEnvironments(), options, {}, Rng(1), StopToken()));
    REQUIRE_OK(environment->Reset());
    const ReadyLanes ready = ValueOf(environment->Recv(1, StopToken()));
    const auto* const observation = static_cast<const float*>(ready.observations[0]);
    return std::vector<float>(observation, observation + 4);
  };
  CHECK(first_row(plain) == first_row(sticky));
}

TEST_CASE("An environment of Gymnasium is opened by the interpreter that the experiment names", "[unit]") {
  const TemporaryFolder folder;
  const std::string python = folder.File("python");
  // It records its arguments, and writes the messages that it was sent.
  std::ofstream(python) << "#!/bin/sh\nprintf '%s' \"$*\" >" << folder.File("arguments") << "\nhead -c 300 <&3 >"
                        << folder.File("told") << "\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  EnvironmentOptions options;
  options.python = python;
  options.gymnasium.id = "module:Corridor-v0";
  options.gymnasium.kwargs = R"({"padding":")" + std::string(400, 'x') + R"("})";
  CHECK_FALSE(OpenEnvironment(BuiltinEnvironments(), options, {}, Rng(1), StopToken()).ok());
  const auto contents = [&folder](const char* name) { return testing::Contents(folder.File(name)); };
  CHECK(contents("arguments") == OwnFolder() + "/../share/waggle/environment");
  CHECK(std::filesystem::exists(contents("arguments") + "/waggle_environment/__main__.py"));
  CHECK_THAT(contents("told"), Catch::Contains("\"id\":\"module:Corridor-v0\""));
}

TEST_CASE("Gymnasium's environments are filmed in one process, and films of other schemes are refused", "[unit]") {
  const TemporaryFolder folder;
  const std::string python = folder.File("python");
  std::ofstream(python) << "#!/bin/sh\nhead -c 300 <&3 >" << folder.File("told") << "\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  EnvironmentOptions options;
  options.python = python;
  options.processes = 3;
  options.gymnasium.id = "Corridor-v0";
  LaneOptions lanes;
  lanes.lanes = 4;
  lanes.video = VideoOptions{folder.File("a \"film\"" + std::string(200, 'x')), 2};
  CHECK_FALSE(OpenEnvironment(BuiltinEnvironments(), options, lanes, Rng(1), StopToken()).ok());
  CHECK(std::filesystem::is_directory(lanes.video->folder));
  CHECK_THAT(testing::Contents(folder.File("told")),
             Catch::Contains("\"episodes\":2") && Catch::Contains("a \\\"film\\\"") && Catch::Contains("[2,2]"));

  EnvironmentOptions agents;
  agents.pettingzoo.id = "some.agents";
  EnvironmentOptions plugin;
  plugin.plugin.library = "/no/such/library.so";
  for (const EnvironmentOptions& other : {agents, plugin}) {
    const auto refused = OpenEnvironment(BuiltinEnvironments(), other, lanes, Rng(1), StopToken());
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(refused.status().message()),
               Catch::StartsWith("--video: got an environment of " + other.Scheme()));
  }
}

TEST_CASE("A missing interpreter is refused by its key", "[unit]") {
  EnvironmentOptions options;
  options.gymnasium.id = "CartPole-v1";
  options.python = "/no/such/python";
  const auto opened = OpenEnvironment(BuiltinEnvironments(), options, {}, Rng(1), StopToken());
  REQUIRE_CODE(opened, absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(opened.status().message()), Catch::Contains("environment.python"));
}

TEST_CASE("An actor offers every environment that is built in, and Gymnasium's", "[unit]") {
  const std::vector<std::string> offered = OfferedEnvironments(BuiltinEnvironments());
  for (const char* const name : {"CartPole-v1", "gymnasium"}) {
    CHECK(std::count(offered.begin(), offered.end(), name) == 1);
  }
}

}  // namespace
}  // namespace waggle
