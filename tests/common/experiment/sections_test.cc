#include "common/experiment/sections.h"

#include <string>

#include "common/config/config_reader.h"
#include "common/config/config_writer.h"
#include "common/config/yaml_file.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Every section's defaults are valid, but for the end that a run must be given", "[unit]") {
  REQUIRE_OK(ExperimentOptions().Validate());
  REQUIRE_OK(EnvironmentOptions().Validate());
  REQUIRE_OK(ReplayOptions().Validate());
  REQUIRE_OK(ActorOptions().Validate());
  REQUIRE_OK(CheckpointOptions().Validate());
  REQUIRE_OK(LearnerOptions().Validate());
  REQUIRE_OK(EvaluationOptions().Validate());
  REQUIRE_CODE(StopOptions().Validate(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Every section's defaults lie in their ranges", "[unit]") {
  ConfigWriter writer;
  ReplayOptions replay;
  ActorOptions actor;
  LearnerOptions learner;
  EvaluationOptions evaluation;
  StopOptions stop;
  stop.target_return = -1.5;
  writer.Section("replay", &replay);
  writer.Section("actor", &actor);
  writer.Section("learner", &learner);
  writer.Section("evaluation", &evaluation);
  writer.Section("stop", &stop);
  const YamlNode root = testing::ValueOf(ParseYaml(writer.text(), "x.yaml"));
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  reader.Section("replay", &replay);
  reader.Section("actor", &actor);
  reader.Section("learner", &learner);
  reader.Section("evaluation", &evaluation);
  reader.Section("stop", &stop);
  reader.Finish();
  REQUIRE_OK(errors.ToStatus());
}

TEST_CASE("Any one way to end suffices", "[unit]") {
  StopOptions by_return;
  by_return.target_return = 0;
  REQUIRE_OK(by_return.Validate());
  StopOptions by_env_steps;
  by_env_steps.max_env_steps = 1;
  REQUIRE_OK(by_env_steps.Validate());
  StopOptions by_learner_steps;
  by_learner_steps.max_learner_steps = 1;
  REQUIRE_OK(by_learner_steps.Validate());
  StopOptions by_time;
  by_time.max_seconds = 0.5;
  REQUIRE_OK(by_time.Validate());
}

TEST_CASE("Devices are cpu, cuda or cuda with a number", "[unit]") {
  for (const char* good : {"cpu", "cuda", "cuda:0", "cuda:15"}) {
    LearnerOptions learner;
    learner.device = good;
    REQUIRE_OK(learner.Validate());
  }
  for (const char* bad : {"", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:1234", "cuda: 1", "CPU"}) {
    INFO(bad);
    ActorOptions actor;
    actor.device = bad;
    CHECK(actor.Validate().message() == std::string("device: got \"") + bad + "\"; wanted cpu, cuda or cuda:N");
  }
}

TEST_CASE("A run's name must be good for a folder", "[unit]") {
  for (const char* bad : {"", ".", "..", "a/b", ".hidden", "-x", "a b", "a\n"}) {
    INFO(bad);
    ExperimentOptions options;
    options.name = bad;
    REQUIRE_CODE(options.Validate(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace waggle
