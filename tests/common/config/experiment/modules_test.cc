#include "absl/strings/match.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/experiment/live_settings.h"
#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::ValueOf;

struct AddingOptions : ModuleOptions {
  double weight = 1;

  void Visit(ConfigVisitor& visitor) override { visitor.Double("weight", &weight, In(0, 10).Live()); }
  absl::Status Validate() const override {
    return weight == 7 ? absl::InvalidArgumentError("weight: 7 is not fair") : absl::OkStatus();
  }
};

// Adds a network. Does not fit with a weight of 3.
template <int number>
absl::Status Extend(const AddingOptions& options, const PlanContext&, AlgorithmPlan* plan) {
  if (options.weight == 3) {
    return absl::InvalidArgumentError("weight: got 3; wanted another");
  }
  plan->networks.push_back({number == 0 ? "early" : "late", {{"features", {HeadKind::kVector, 4}}}});
  return absl::OkStatus();
}

AlgorithmDefinitions Algorithms() {
  AlgorithmDefinitions algorithms = testing::FakeAlgorithms();
  algorithms.modules.Register("early", DefineModule<AddingOptions>("for tests", ModuleStage::kGoals, Extend<0>))
      .IgnoreError();
  algorithms.modules.Register("late", DefineModule<AddingOptions>("for tests", ModuleStage::kRewards, Extend<1>))
      .IgnoreError();
  return algorithms;
}

absl::StatusOr<Experiment> Parse(const std::string& modules) {
  return ParseExperiment("algorithm: {name: fake, modules: " + modules + "}\nstop: {max_seconds: 1}\n", "x.yaml", {},
                         Algorithms());
}

absl::Status Check(const std::string& modules) {
  return CheckAgainstEnvironment(ValueOf(Parse(modules)), testing::FakeEnvironmentSpec(), Algorithms());
}

TEST_CASE("modules extend the algorithm's plan in their order, and are printed with their keys", "[unit]") {
  const Experiment experiment = ValueOf(Parse("[{type: early}, {type: late, weight: 2}]"));
  REQUIRE(experiment.modules.size() == 2);
  CHECK(static_cast<const AddingOptions&>(*experiment.modules[1].options).weight == 2);
  const ExperimentPlan plan = ValueOf(PlanExperiment(experiment, testing::FakeEnvironmentSpec(), Algorithms()));
  REQUIRE(plan.networks.size() == 3);
  CHECK(plan.networks[1].name == "early");
  CHECK(plan.networks[2].name == "late");
  const std::string text = ToYaml(experiment);
  CHECK(ToYaml(ValueOf(ParseExperiment(text, "y.yaml", {}, Algorithms()))) == text);
  CHECK_FALSE(absl::StrContains(ToYaml(ValueOf(Parse("[]"))), "modules"));
}

TEST_CASE("a module's wrong keys are reported at their places", "[unit]") {
  const auto problem = [](const std::string& modules) { return std::string(Parse(modules).status().message()); };
  CHECK(absl::StrContains(problem("[{type: lat}]"), "algorithm.modules[0].type: "));
  CHECK(absl::StrContains(problem("[{type: late, weight: 11}]"), "algorithm.modules[0].weight: "));
  CHECK(absl::StrContains(problem("[{type: early}, {type: late, wait: 1}]"), "algorithm.modules[1].wait: unknown key"));
  CHECK(absl::StrContains(problem("[{type: late, weight: 7}]"), "algorithm.modules[0].weight: 7 is not fair"));
  CHECK(absl::StrContains(problem("[{weight: 1}]"), "algorithm.modules[0].type: "));
}

TEST_CASE("modules that do not fit, are out of order or are there twice are refused", "[unit]") {
  REQUIRE_OK(Check("[{type: early}, {type: late}]"));
  CHECK(Check("[{type: late, weight: 3}]").message() == "algorithm.modules[0].weight: got 3; wanted another");
  CHECK(Check("[{type: late}, {type: early}]").message() ==
        "algorithm.modules[1].type: got early after late; wanted it before: it changes what that one reads");
  CHECK(Check("[{type: late}, {type: late}]").message() ==
        "algorithm.modules[1].type: got late a second time; wanted one of each type");
}

TEST_CASE("a module's number can be set while the experiment runs", "[unit]") {
  const std::string yaml = ToYaml(ValueOf(Parse("[{type: early}, {type: late}]")));
  const ChangedSettings changed =
      ValueOf(ChangeSettings(yaml, "", {{"algorithm.modules[1].weight", "4"}}, Algorithms()));
  CHECK(changed.settings == "algorithm.modules[1].weight=4\n");
  CHECK(static_cast<const AddingOptions&>(*changed.experiment.modules[1].options).weight == 4);
  CHECK(static_cast<const AddingOptions&>(*changed.experiment.modules[0].options).weight == 1);
}

TEST_CASE("modules are for one agent", "[unit]") {
  EnvironmentSpec spec = testing::FakeEnvironmentSpec();
  spec.observations = {Box("a/observation", DType::kFloat32, {4}), Box("b/observation", DType::kFloat32, {4})};
  spec.actions = {Discrete("a/action", 2), Discrete("b/action", 2)};
  spec.rewards = {ArraySpec{"a/reward", DType::kFloat32, {}}, ArraySpec{"b/reward", DType::kFloat32, {}}};
  CHECK_THAT(
      std::string(PlanExperiment(ValueOf(Parse("[{type: early}]")), spec, Algorithms()).status().message()),
      Catch::StartsWith("algorithm.modules[0].type: got early, which is for one agent, and environment CartPole-v1 "
                        "has 2; wanted no modules"));
}

}  // namespace
}  // namespace waggle
