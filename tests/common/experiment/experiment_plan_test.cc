#include "common/experiment/experiment_plan.h"

#include "tests/common/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("an experiment's plan has its networks resolved and its tables named and seeded", "[unit]") {
  const Experiment experiment = testing::ValueOf(
      ParseExperiment("experiment: {name: pole, seed: 5}\nalgorithm: {name: fake}\nstop: {max_seconds: 1}\n", "x.yaml",
                      {}, testing::FakeAlgorithms()));
  const ExperimentPlan plan =
      testing::ValueOf(PlanExperiment(experiment, testing::FakeEnvironmentSpec(), testing::FakeAlgorithms()));
  REQUIRE(plan.networks.size() == 1);
  CHECK(plan.acting() == &plan.networks[0]);
  CHECK(plan.networks[0].name == "q");
  CHECK(plan.networks[0].num_parameters > 0);
  REQUIRE(plan.algorithm.tables.size() == 1);
  CHECK(plan.algorithm.tables[0].table.name == "pole/replay");
  CHECK(plan.algorithm.tables[0].table.seed == 5);
  CHECK(ExperimentPlan().acting() == nullptr);
}

TEST_CASE("an algorithm refuses the options of another", "[unit]") {
  struct Others : AlgorithmOptions {
    void Visit(ConfigVisitor&) override {}
    absl::Status Validate() const override { return absl::OkStatus(); }
  };
  Experiment experiment;
  experiment.algorithm = "fake";
  experiment.algorithm_options = std::make_shared<Others>();
  REQUIRE_CODE(PlanExperiment(experiment, testing::FakeEnvironmentSpec(), testing::FakeAlgorithms()),
               absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
