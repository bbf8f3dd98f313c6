#include "cli/check_report.h"

#include <string>

#include "cli/checked_experiment.h"
#include "common/rl/algorithms/builtin.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::ValueOf;

std::string Estimate(const std::vector<std::pair<std::string, std::string>>& overrides) {
  const CheckedExperiment checked =
      ValueOf(LoadCheckedExperiment(std::string(WAGGLE_TEST_CONFIG_DIR) + "/cartpole_apex_dqn.yaml", overrides));
  return ValueOf(EstimateText(checked.experiment, checked.environment, BuiltinAlgorithmDefinitions()));
}

TEST_CASE("Parameters and memory are estimated", "[unit]") {
  const std::string text = Estimate({{"network.torso[0].units", "[64, 64]"},
                                     {"network.head.type", "q"},
                                     {"algorithm.n_step", "3"},
                                     {"replay.max_items", "1048576"},
                                     {"replay.max_bytes", "4294967296"}});
  CHECK(text.find("[4] [64] [2], 4610 parameters") != std::string::npos);
  // A row is four floats, an action, a reward and a discount: 32 bytes, and 48 for the item.
  CHECK(text.find("1048576 items of up to 4 rows, 32 bytes a row: about 80.0 MiB") != std::string::npos);
  CHECK(text.find("an actor holds at most 64 MiB that no replay server has acknowledged\n") != std::string::npos);
}

TEST_CASE("What an actor may hold for lost servers is told", "[unit]") {
  CHECK(Estimate({{"replay.servers", "3"}}).find("; while servers are lost, at most 192\n") != std::string::npos);
}

TEST_CASE("The byte limit bounds the estimate", "[unit]") {
  const std::string text = Estimate({{"replay.max_items", "1048576"}, {"replay.max_bytes", "1048576"}});
  CHECK(text.find("about 49.0 MiB") != std::string::npos);
}

}  // namespace
}  // namespace waggle
