#include "common/rl/algorithms/definitions.h"

#include "common/experiment/experiment.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("every algorithm that ships is described and has valid defaults", "[unit]") {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  for (const std::string& name : definitions.Names()) {
    INFO(name);
    const AlgorithmDefinition& definition = *testing::ValueOf(definitions.Find(name));
    CHECK_FALSE(definition.description.empty());
    CHECK_FALSE(definition.action_kinds.empty());
    const Experiment experiment = testing::ValueOf(
        ParseExperiment("algorithm: {name: " + name + "}\nstop: {max_seconds: 1}\n", "test.yaml", {}, definitions));
    CHECK_FALSE(experiment.networks.empty());
    // What it prints is what it reads.
    const Experiment again = testing::ValueOf(ParseExperiment(ToYaml(experiment), "again.yaml", {}, definitions));
    CHECK(ToYaml(again) == ToYaml(experiment));
  }
}

}  // namespace
}  // namespace waggle
