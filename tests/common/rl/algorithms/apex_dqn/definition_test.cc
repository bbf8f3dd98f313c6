#include <limits>
#include <string>

#include "common/config/field_checker.h"
#include "common/experiment/experiment.h"
#include "common/rl/algorithms/apex_dqn/apex_dqn.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

EnvironmentSpec Environment() {
  EnvironmentSpec environment;
  environment.name = "CartPole-v1";
  environment.observations = {Box("observation", DType::kFloat32, {4})};
  environment.actions = {Discrete("action", 2)};
  return environment;
}

TablePlan Plan(const ApexDqnOptions& options, const ReplayOptions& replay = ReplayOptions()) {
  const LearnerOptions learner;
  const EnvironmentSpec environment = Environment();
  const AlgorithmPlan plan = testing::ValueOf(apex_dqn_definition().plan(options, {environment, {}, replay, learner}));
  const std::vector<TablePlan>& plans = plan.tables;
  REQUIRE(plans.size() == 1);
  return plans[0];
}

absl::StatusOr<Experiment> Parse(const std::string& algorithm) {
  return ParseExperiment("algorithm: {name: apex_dqn, " + algorithm + "}\nstop: {max_learner_steps: 10}\n", "test.yaml",
                         {}, BuiltinAlgorithmDefinitions());
}

TEST_CASE("every leaf is a column of its name, and stands in the batch at both ends of the window", "[unit]") {
  EnvironmentSpec environment = Environment();
  environment.observations = {Box("observation/camera", DType::kUint8, {3, 8, 8}),
                              Box("observation/state", DType::kFloat32, {4}), MultiBinary("action_mask/push", {2})};
  environment.actions[0].array.name = "action/push";
  REQUIRE_OK(environment.Validate());
  const ReplayOptions replay;
  const LearnerOptions learner;
  const TableConfig table =
      testing::ValueOf(apex_dqn_definition().plan(ApexDqnOptions(), {environment, {}, replay, learner}))
          .tables.at(0)
          .table;
  REQUIRE_OK(table.Validate());
  std::vector<std::string> view;
  for (const ViewField& field : table.view) {
    view.push_back(field.name + "=" + field.column);
  }
  CHECK(view ==
        std::vector<std::string>{"observation/camera=observation/camera", "observation/state=observation/state",
                                 "action_mask/push=action_mask/push", "action/push=action/push", "reward=reward",
                                 "discount=discount", "next_observation/camera=observation/camera",
                                 "next_observation/state=observation/state", "next_action_mask/push=action_mask/push"});
}

TEST_CASE("the table holds n-step windows and shows a transition of each", "[unit]") {
  ApexDqnOptions options;
  options.n_step = 5;
  const TablePlan plan = Plan(options);
  REQUIRE_OK(plan.table.Validate());
  CHECK(plan.window.kind == WindowPlan::Kind::kNStep);
  CHECK(plan.window.length == 6);
  CHECK(plan.table.max_window == 6);
  CHECK(DebugString(plan.table.signature) ==
        "[observation: float32[4], action: int64[], reward: float32[], discount: float32[]]");
  std::vector<std::pair<std::string, ViewField::Rows>> view;
  for (const ViewField& field : plan.table.view) {
    view.emplace_back(field.name + "=" + field.column, field.rows);
  }
  CHECK(view ==
        std::vector<std::pair<std::string, ViewField::Rows>>{{"observation=observation", ViewField::Rows::kFirst},
                                                             {"action=action", ViewField::Rows::kFirst},
                                                             {"reward=reward", ViewField::Rows::kAll},
                                                             {"discount=discount", ViewField::Rows::kAll},
                                                             {"next_observation=observation", ViewField::Rows::kLast}});
}

TEST_CASE("the table takes its limits and its sampler from the replay section", "[unit]") {
  ReplayOptions replay;
  replay.table.max_items = 5'000;
  replay.table.rate_limiter.min_items = 200;
  replay.table.rate_limiter.samples_per_insert = 8;
  replay.table.compression = {{"observation", Codec::kZstd}};
  TableConfig table = Plan(ApexDqnOptions(), replay).table;
  CHECK(table.max_items == 5'000);
  CHECK(table.rate_limiter.min_items == 200);
  CHECK(table.rate_limiter.error_buffer == 10 * 128);
  CHECK(table.compression.size() == 1);
  replay.table.rate_limiter.error_buffer = 300;
  CHECK(Plan(ApexDqnOptions(), replay).table.rate_limiter.error_buffer == 300);
}

TEST_CASE("windows have a priority where the table picks anything by it", "[unit]") {
  ReplayOptions replay;
  CHECK(Plan(ApexDqnOptions(), replay).initial_priority != nullptr);
  replay.table.sampler.kind = SelectorKind::kUniform;
  CHECK(Plan(ApexDqnOptions(), replay).initial_priority == nullptr);
  replay.table.remover.kind = SelectorKind::kMinHeap;
  CHECK(Plan(ApexDqnOptions(), replay).initial_priority != nullptr);
}

TEST_CASE("a window starts with its n-step TD error by the weights that acted", "[unit]") {
  ApexDqnOptions options;
  options.discount = 0.5;
  const InitialPriority priority = Plan(options).initial_priority;
  // Of each row: the Q-value of the action taken, then of the best one.
  const float q[3][2] = {{2, 3}, {9, 9}, {7, 8}};
  WindowRow rows[3] = {{1, 1, q[0]}, {4, 1, q[1]}, {100, 100, q[2]}};
  // 1 + 0.5 * 4 + 0.25 * 8 - 2 = 3.
  CHECK(priority(rows, 3) == Approx(3));
  // Cut short by a truncation: the last row's value counts.
  CHECK(priority(rows, 2) == Approx(std::abs(1 + 0.5 * 9 - 2)));
  // A true end: it does not, whatever it is.
  const float broken[2] = {0, std::numeric_limits<float>::infinity()};
  rows[1].discount = 0;
  rows[2].extras = broken;
  CHECK(priority(rows, 3) == Approx(1));
}

TEST_CASE("the target follows softly by default and periodically where steps are given", "[unit]") {
  const auto options = [](const absl::StatusOr<Experiment>& experiment) {
    REQUIRE_OK(experiment);
    return dynamic_cast<const ApexDqnOptions&>(*experiment->algorithm_options);
  };
  CHECK(options(Parse("mode: double")).target_update_rate == 0.01);
  CHECK(options(Parse("target_update_rate: 0.01")).target_update_rate == 0.01);
  const ApexDqnOptions periodic = options(Parse("update_steps: 100"));
  CHECK(periodic.update_steps == 100);
  CHECK(periodic.EffectiveTargetUpdateRate() == 0);
  CHECK_FALSE(options(Parse("mode: vanilla")).target_update_rate.has_value());
  CHECK(ApexDqnOptions().EffectiveTargetUpdateRate() == 0.01);
}

TEST_CASE("contradictions between options are errors at their place", "[unit]") {
  absl::Status status = Parse("target_update_rate: 0.01, update_steps: 100").status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message().find("target_update_rate: 0.01 and update_steps: 100 exclude each other") !=
        std::string::npos);
  status = Parse("mode: vanilla, update_steps: 100").status();
  CHECK(status.message().find("mode vanilla, which has no target network") != std::string::npos);
  status = Parse("target_update_rate: 0").status();
  CHECK(status.message().find("target_update_rate: got the number 0; wanted a number in (0, 1]") != std::string::npos);
  CHECK_FALSE(Parse("mode: triple").ok());
  CHECK_FALSE(Parse("n_step: 0").ok());
  CHECK_FALSE(Parse("discount: 1.5").ok());
  CHECK_FALSE(Parse("exploration: {epsilon: {from: 1, to: 2}}").ok());
  CHECK_FALSE(Parse("exploration: {type: gaussian, epsilon: 0.1}").ok());
  ApexDqnOptions options;
  options.discount = std::numeric_limits<double>::quiet_NaN();
  options.n_step = 0;
  CHECK(Check(options).message() ==
        "n_step: got the number 0; wanted an integer in [1, 1000]\n"
        "discount: got the number nan; wanted a number in [0, 1]");
}

TEST_CASE("priorities are added to in one place, by the table's sampler", "[unit]") {
  CHECK(testing::ValueOf(Parse("mode: double")).replay.table.sampler.priority_epsilon == 0.01);
  CHECK(Parse("priority_epsilon: 0.5").status().message().find("algorithm.priority_epsilon: unknown key") !=
        std::string::npos);
}

TEST_CASE("an experiment with every option survives being printed and parsed", "[unit]") {
  const Experiment experiment = testing::ValueOf(
      Parse("mode: fixed_target, n_step: 2, loss: mse, update_steps: 7, exploration: {warm_up_steps: 30}, "
            "optimizer: {type: sgd, momentum: 0.5}"));
  const Experiment again =
      testing::ValueOf(ParseExperiment(ToYaml(experiment), "again", {}, BuiltinAlgorithmDefinitions()));
  CHECK(ToYaml(again) == ToYaml(experiment));
  const auto& options = dynamic_cast<const ApexDqnOptions&>(*again.algorithm_options);
  CHECK(options.mode == "fixed_target");
  CHECK(options.update_steps == 7);
  CHECK(options.optimizer.momentum == 0.5);
}

}  // namespace
}  // namespace waggle
