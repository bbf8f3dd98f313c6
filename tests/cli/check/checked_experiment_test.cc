#include "cli/check/checked_experiment.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::ValueOf;

const std::string kCartPole = std::string(WAGGLE_TEST_CONFIG_DIR) + "/cartpole_apex_dqn.yaml";

TEST_CASE("Every experiment that ships passes every check", "[unit]") {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(WAGGLE_TEST_CONFIG_DIR)) {
    INFO(file.path());
    REQUIRE_OK(LoadCheckedExperiment(file.path().string(), {}, ForeignEnvironments::kNotOpened));
    ++count;
  }
  CHECK(count > 0);
}

TEST_CASE("The environment's facts come with the experiment, and include its transforms", "[unit]") {
  const CheckedExperiment checked = ValueOf(LoadCheckedExperiment(kCartPole, {}));
  CHECK(checked.environment->name == "CartPole-v1");
  CHECK(checked.environment->actions == std::vector<SpaceLeaf>{Discrete("action", 2)});
  const CheckedExperiment stacked =
      ValueOf(LoadCheckedExperiment(kCartPole, {{"environment.transforms", "[frame_stack]"}}));
  CHECK(stacked.environment->observations[0].array.shape == std::vector<int64_t>{16});
}

TEST_CASE("Errors name the key and the place of its value", "[unit]") {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"learner.bach_size", "3", "did you mean \"batch_size\"?"},
      {"environment.name", "CartPol-v1", "did you mean \"CartPole-v1\"?"},
      {"networks.q.torso", "[{type: conv}]", "networks.q.torso"},
      {"replay.max_bytes", "1", "replay.max_bytes: got 1; wanted at least "},
      {"replay.compression", "[{column: x}]", "replay.compression: no column named \"x\""},
      {"environment.transforms", "[grayscale]", "environment.transforms[0].grayscale: got "},
      {"environment", "{gymnasium: {id: ALE/Pong-v5}, transforms: [{resize: {height: 0}}]}",
       "environment.transforms[0].resize: height: got "},
  };
  for (const auto& [key, value, says] : cases) {
    const absl::Status wrong =
        LoadCheckedExperiment(kCartPole, {{key, value}}, ForeignEnvironments::kNotOpened).status();
    CHECK_THAT(std::string(wrong.message()), Catch::Contains(says) && Catch::StartsWith(std::string("--set ") + key));
  }
  const absl::Status both =
      LoadCheckedExperiment(kCartPole, {{"environment.name", "x"}, {"learner.device", "gpu"}}).status();
  CHECK_THAT(std::string(both.message()), Catch::StartsWith("--set learner.device=gpu: learner.device: got ") &&
                                              Catch::Contains("\n--set environment.name=x: environment.name: no "));
  REQUIRE_CODE(LoadCheckedExperiment("/no/such.yaml", {}), absl::StatusCode::kNotFound);
}

TEST_CASE("A missing folder of initial weights is one sentence, unless the experiment only goes elsewhere", "[unit]") {
  const std::vector<std::pair<std::string, std::string>> init = {{"learner.init.from", "no/such/run"}};
  const absl::Status missing = LoadCheckedExperiment(kCartPole, init).status();
  CHECK(
      missing.message() ==
      kCartPole +
          ": learner.init.from: no/such/run is not there; wanted a run's folder, an experiment's folder in a parameter "
          "server's data folder, or a folder of weights or of a learner's checkpoints");
  REQUIRE_OK(LoadCheckedExperiment(kCartPole, init, ForeignEnvironments::kNotOpened));
}

std::string Page(const std::string& name) {
  std::ifstream file(std::string(WAGGLE_TEST_DOCS_DIR) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The YAML blocks of a documentation page.
std::vector<std::string> YamlBlocks(const std::string& page) {
  std::istringstream file(Page(page));
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```yaml";
      if (inside) {
        blocks.emplace_back();
      }
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

std::string Joined(const std::string& one, const std::string& other) {
  return ToYaml(ValueOf(ParseExperiment(one + other, "page", {}, BuiltinAlgorithmDefinitions())));
}

TEST_CASE("The pages that list an experiment's keys are complete, and show the defaults", "[unit]") {
  const std::string stop = "stop: {max_env_steps: 1}\n";
  const std::string algorithm = "algorithm: {name: apex_dqn}\n";
  const std::string defaults = Joined(algorithm, stop);
  const std::vector<std::string> experiment = YamlBlocks("experiments.md");
  const std::vector<std::string> replay = YamlBlocks("replay.md");
  REQUIRE(experiment.size() == 2);
  REQUIRE(replay.size() == 1);
  std::string sections = experiment[0];
  const std::string no_limit = "max_env_steps: 0 ";  // An experiment needs one.
  REQUIRE(sections.find(no_limit) != std::string::npos);
  sections.replace(sections.find(no_limit), no_limit.size(), "max_env_steps: 1 ");
  CHECK(Joined(sections, "") == defaults);
  CHECK(Joined(experiment[1], stop) == defaults);
  CHECK(Joined(replay[0], algorithm + stop) == defaults);
  const std::string all = experiment[0] + experiment[1] + replay[0];
  const std::string networks = Page("networks.md");  // Lists the keys of layers and heads.
  std::istringstream lines(defaults);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(" -");
    const std::string key = line.substr(begin, line.find(':') - begin);
    INFO(key);
    CHECK((all.find(key + ":") != std::string::npos || networks.find(key + ":") != std::string::npos));
  }
}

}  // namespace
}  // namespace waggle
