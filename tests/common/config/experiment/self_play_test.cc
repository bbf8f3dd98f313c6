#include "common/config/experiment/self_play.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/memory_estimate.h"
#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::FakeAlgorithms;
using testing::FakeEnvironmentSpec;
using testing::ValueOf;

constexpr char kSelfPlay[] =
    "algorithm: {name: fake}\nstop: {max_seconds: 1}\nenvironment: {name: Duel}\nactor: {self_play: {}}\n"
    "evaluation: {environment: {name: Alone}}\n";

EnvironmentSpec DuelSpec() {
  EnvironmentSpec spec;
  spec.name = "Duel";
  spec.rewards.clear();
  for (const std::string agent : {"a/", "b/"}) {
    spec.observations.push_back(Box(agent + "observation", DType::kFloat32, {4}));
    spec.actions.push_back(Discrete(agent + "action", 2));
    spec.rewards.push_back(ArraySpec{agent + "reward", DType::kFloat32, {}});
  }
  return spec;
}

struct Checked {
  absl::StatusOr<Experiment> experiment;
  std::optional<EnvironmentSpec> environment;
};

Checked Check(const std::vector<std::pair<std::string, std::string>>& overrides,
              const EnvironmentSpec& duel = DuelSpec()) {
  Checked checked{absl::UnknownError(""), std::nullopt};
  checked.experiment = ParseAndCheckExperiment(
      kSelfPlay, "x.yaml", overrides, FakeAlgorithms(), {},
      [&duel](const EnvironmentOptions& options) { return options.name == "Duel" ? duel : FakeEnvironmentSpec(); },
      &checked.environment);
  return checked;
}

std::string Problem(const std::vector<std::pair<std::string, std::string>>& overrides,
                    const EnvironmentSpec& duel = DuelSpec()) {
  return std::string(Check(overrides, duel).experiment.status().message());
}

TEST_CASE("self-play is learned as an environment of one agent", "[unit]") {
  const Checked checked = Check({{"actor.self_play", "{size: 3, every: 7, newest_share: 0.25}"}});
  REQUIRE_OK(checked.experiment);
  EnvironmentSpec one = FakeEnvironmentSpec();
  one.name = "Duel";
  one.max_episode_steps = 0;
  CHECK(*checked.environment == one);
  const Experiment again = ValueOf(ParseExperiment(ToYaml(*checked.experiment), "y.yaml", {}, FakeAlgorithms()));
  REQUIRE(again.actor.self_play.has_value());
  CHECK(again.actor.self_play->size == 3);
  CHECK(again.actor.self_play->every == 7);
  CHECK(again.actor.self_play->newest_share == 0.25);
  CHECK(again.actor.self_play->policies() == 4);
}

TEST_CASE("an empty section means self-play with its defaults, and an absent one none", "[unit]") {
  const Checked checked = Check({});
  REQUIRE_OK(checked.experiment);
  CHECK(checked.experiment->actor.self_play.has_value());
  const std::string yaml = "algorithm: {name: fake}\nstop: {max_seconds: 1}\n";
  const Experiment none = ValueOf(ParseExperiment(yaml, "x.yaml", {}, FakeAlgorithms()));
  CHECK_FALSE(none.actor.self_play.has_value());
  CHECK(ToYaml(none).find("self_play") == std::string::npos);
}

TEST_CASE("self-play refuses an environment that has not two agents of equal spaces", "[unit]") {
  CHECK_THAT(Problem({}, FakeEnvironmentSpec()),
             Catch::Contains("actor.self_play: environment CartPole-v1 has 1 agent;"));
  EnvironmentSpec three = DuelSpec();
  three.observations.push_back(Box("c/observation", DType::kFloat32, {4}));
  three.actions.push_back(Discrete("c/action", 2));
  three.rewards.push_back(ArraySpec{"c/reward", DType::kFloat32, {}});
  CHECK_THAT(Problem({}, three), Catch::Contains("actor.self_play: environment Duel has 3 agents; wanted two"));
  EnvironmentSpec unequal = DuelSpec();
  unequal.actions[1] = Discrete("b/action", 3);
  CHECK_THAT(Problem({}, unequal), Catch::Contains("actor.self_play: environment Duel has agents of different spaces"));
  EnvironmentSpec shared = DuelSpec();
  shared.observations.push_back(Box("observation", DType::kFloat32, {1}));
  CHECK_THAT(Problem({}, shared), Catch::Contains("actor.self_play: environment Duel has observations of neither"));
  EnvironmentSpec invalid = DuelSpec();
  invalid.observations[0].array.name = "a/nothing";
  REQUIRE_CODE(SelfPlaySpec(invalid), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("the environment of self-play is no environment for evaluations", "[unit]") {
  CHECK_THAT(Problem({{"evaluation.environment.name", "Duel"}}), Catch::Contains("evaluation.environment: got "));
  REQUIRE_OK(Check({{"evaluation", "{enabled: false}"}}).experiment);
}

TEST_CASE("self-play needs actors with weights of their own", "[unit]") {
  CHECK_THAT(Problem({{"actor.inference", "server"}}),
             Catch::StartsWith("x.yaml:4: actor.self_play: got processes: 1"));
  CHECK_THAT(Problem({{"actor.processes", "0"}}), Catch::StartsWith("x.yaml:4: actor.self_play: got processes: 0"));
  CHECK_THAT(Problem({{"actor.self_play.newest_share", "1.5"}}), Catch::Contains("actor.self_play.newest_share: got "));
  CHECK_THAT(Problem({{"actor.self_play.every", "0"}}), Catch::Contains("actor.self_play.every: got "));
  CHECK_THAT(Problem({{"actor.self_play.size", "-1"}}), Catch::Contains("actor.self_play.size: got "));
}

TEST_CASE("an actor's memory has a network for each opponent", "[unit]") {
  const auto parameters = [](const std::string& size) {
    const Checked checked = Check({{"actor.self_play.size", size}});
    const std::vector<ProcessMemory> all =
        ValueOf(EstimateMemory(*checked.experiment, *checked.environment, FakeAlgorithms()));
    std::vector<double> bytes;
    for (const ProcessMemory& memory : all) {
      for (const MemoryPart& part : memory.parts) {
        if ((memory.role == Role::kActor || memory.role == Role::kEvaluator) && part.name == "parameters") {
          bytes.push_back(part.bytes);
        }
      }
    }
    REQUIRE(bytes.size() == 2);
    return bytes[0] / bytes[1];
  };
  CHECK(parameters("0") == 2);
  CHECK(parameters("8") == 10);
}

}  // namespace
}  // namespace waggle
