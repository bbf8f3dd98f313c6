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

struct ExploringOptions : AlgorithmOptions {
  ExplorationOptions exploration;

  void Visit(ConfigVisitor& visitor) override { visitor.Section("exploration", &exploration); }
  absl::Status Validate() const override { return absl::OkStatus(); }
};

TEST_CASE("an exploration that the network or the action has no use for is refused", "[unit]") {
  const auto plan = [](const ExploringOptions& options, const PlanContext& context) -> absl::StatusOr<AlgorithmPlan> {
    NetworkNeed network{"actor", {}};
    network.heads["a"] = context.environment.actions[0].kind == SpaceKind::kBox ? HeadKind::kNormal : HeadKind::kQ;
    if (context.learner.batch_size == 7) {
      network.heads["a"] = HeadKind::kCategorical;
    }
    network.acts = true;
    AlgorithmPlan algorithm{{network}};
    algorithm.exploration = options.exploration;
    return algorithm;
  };
  AlgorithmDefinitions algorithms("algorithm");
  REQUIRE_OK(algorithms.Register("exploring",
                                 Define<ExploringOptions>(
                                     "for tests", {SpaceKind::kDiscrete, SpaceKind::kBox}, [](Experiment*) {}, plan)));
  const auto problems = [&](const std::string& type, const SpaceLeaf& action, int64_t batch_size = 8) {
    Experiment experiment;
    experiment.algorithm = "exploring";
    auto options = std::make_shared<ExploringOptions>();
    options->exploration.type = type;
    experiment.algorithm_options = options;
    experiment.learner.batch_size = batch_size;
    EnvironmentSpec environment = testing::FakeEnvironmentSpec();
    environment.actions = {action};
    const absl::Status planned = PlanExperiment(experiment, environment, algorithms).status();
    CHECK(CheckAgainstEnvironment(experiment, environment, algorithms) == planned);
    return std::string(planned.message());
  };
  const SpaceLeaf choices = Discrete("action", 2);
  const SpaceLeaf real = Box("action", DType::kFloat32, {2}, -1, 1);
  CHECK(problems("none", choices).empty());
  CHECK(problems("epsilon_greedy", choices).empty());
  CHECK(problems("gaussian", real).empty());
  CHECK(
      problems("ornstein_uhlenbeck", choices) ==
      "algorithm.exploration.type: ornstein_uhlenbeck is for real actions, and CartPole-v1 takes discrete ones; wanted "
      "none, epsilon_greedy or boltzmann");
  CHECK(
      problems("boltzmann", real) ==
      "algorithm.exploration.type: boltzmann is for networks that give choices their values; wanted none, gaussian or "
      "ornstein_uhlenbeck");
  CHECK(problems("epsilon_greedy", choices, /*batch_size=*/7) ==
        "algorithm.exploration.type: epsilon_greedy is for networks that give choices their values; wanted none");
}

}  // namespace
}  // namespace waggle
