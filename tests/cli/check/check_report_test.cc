#include "cli/check/check_report.h"

#include <memory>
#include <string>

#include "cli/check/checked_experiment.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::ValueOf;

std::string Estimate(const std::vector<std::pair<std::string, std::string>>& overrides) {
  const CheckedExperiment checked =
      ValueOf(LoadCheckedExperiment(std::string(WAGGLE_TEST_CONFIG_DIR) + "/cartpole_apex_dqn.yaml", overrides));
  return ValueOf(EstimateText(checked.experiment, *checked.environment, BuiltinAlgorithmDefinitions()));
}

TEST_CASE("Parameters and memory are estimated", "[unit]") {
  const std::string text = Estimate({{"networks.q.torso[0].units", "[64, 64]"},
                                     {"networks.q.heads.q.type", "q"},
                                     {"algorithm.n_step", "3"},
                                     {"replay.max_items", "1048576"},
                                     {"replay.max_bytes", "4294967296"}});
  CHECK(text.find("observation: float32[4]; [64] [64]; q [2]; 4610 parameters") != std::string::npos);
  // A row is four floats, an action, a reward and a discount: 32 bytes, and 48 for the item.
  CHECK(text.find("1048576 items of up to 4 rows, 32 bytes a row: about 80.0 MiB") != std::string::npos);
  CHECK(text.find("an actor holds at most 64 MiB that no replay server has acknowledged\n") != std::string::npos);
  CHECK_THAT(Estimate({{"replay.max_items", "1048576"}, {"replay.max_bytes", "1048576"}}),
             Catch::Contains("about 49.0 MiB"));
  CHECK_THAT(Estimate({{"replay.servers", "3"}}), Catch::Contains("; while servers are lost, at most 192\n"));
}

struct NoOptions : AlgorithmOptions {
  void Visit(ConfigVisitor&) override {}
  absl::Status Validate() const override { return absl::OkStatus(); }
};

TEST_CASE("A network's core stands between its torso and its heads", "[unit]") {
  AlgorithmDefinitions algorithms("algorithm");
  REQUIRE_OK(
      algorithms.Register("remembering", Define<NoOptions>(
                                             "for tests", {SpaceKind::kDiscrete}, [](Experiment*) {},
                                             [](const NoOptions&, const PlanContext&) -> absl::StatusOr<AlgorithmPlan> {
                                               return AlgorithmPlan{{NetworkNeed{"net", {{"q", HeadKind::kQ}}}}};
                                             })));
  Experiment experiment;
  experiment.algorithm = "remembering";
  experiment.algorithm_options = std::make_shared<NoOptions>();
  experiment.networks["net"].core.type = "gru";
  experiment.networks["net"].core.units = 32;
  EnvironmentSpec environment;
  environment.name = "Toy-v0";
  environment.observations = {Box("observation", DType::kFloat32, {4})};
  environment.actions = {Discrete("action", 2)};
  CHECK_THAT(ValueOf(EstimateText(experiment, environment, algorithms)),
             Catch::Contains("observation: float32[4]; [64] [64] gru [32]; q [2]; "));
}

TEST_CASE("The estimate lists the memory of each process and the machine's memory", "[unit]") {
  ProcessMemory hub;
  hub.role = Role::kParamServer;
  hub.parts = {{"program", 8 << 20}, {"weights", 512}};
  ProcessMemory actor;
  actor.processes = 12;
  actor.parts = {{"program", 64 << 20}};
  actor.device = "cuda:1";
  actor.device_bytes = 3072;
  CHECK(MemoryText({hub, actor}, int64_t{2} << 30) ==
        "# memory that each process needs at most, about; without the environments' own and the shared libraries:\n"
        "#   param-server  8.0 MiB    program 8.0 MiB, weights 512 B\n"
        "#   12 x actor    64.0 MiB   program 64.0 MiB, and 3.0 KiB on cuda:1\n"
        "#   together      776.0 MiB  of the 2.0 GiB that this machine, or its control group, has\n");
}

}  // namespace
}  // namespace waggle
