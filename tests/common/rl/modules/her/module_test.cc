#include "common/config/experiment/experiment_plan.h"
#include "common/rl/modules/her/her.h"
#include "common/rl/modules/implementations.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using ::waggle::testing::ValueOf;

// A point on a line, whose goal is another point.
EnvironmentSpec GoalEnvironment() {
  EnvironmentSpec environment;
  environment.name = "line";
  environment.observations = {Box("observation/achieved_goal", DType::kFloat32, {1}),
                              Box("observation/desired_goal", DType::kFloat32, {1})};
  environment.actions = {Discrete("action", 2)};
  environment.max_episode_steps = 20;
  return environment;
}

absl::StatusOr<ExperimentPlan> Plan(const std::string& algorithm, const EnvironmentSpec& environment) {
  const Experiment experiment =
      ValueOf(ParseExperiment("algorithm: {" + algorithm + "}\nstop: {max_learner_steps: 1}\n", "test.yaml", {},
                              BuiltinAlgorithmDefinitions()));
  return PlanExperiment(experiment, environment, BuiltinAlgorithmDefinitions());
}

std::string Problem(const std::string& algorithm, const EnvironmentSpec& environment) {
  return std::string(Plan(algorithm, environment).status().message());
}

TEST_CASE("items reach to the episode's end, and show a later goal beside their transition", "[unit]") {
  const ExperimentPlan plan = ValueOf(Plan("name: apex_dqn, n_step: 3, modules: [{type: her}]", GoalEnvironment()));
  const TablePlan& table = plan.algorithm.tables[0];
  CHECK(table.window.length == 21);
  CHECK(table.table.max_window == 21);
  CHECK(table.table.SampledRows() == 4);
  CHECK(table.table.HasFuture());
  CHECK(table.table.future_row == FutureRow::kLater);
  REQUIRE_OK(table.table.Validate());
}

TEST_CASE("strategies take other rows of the episode", "[unit]") {
  const auto row = [](const std::string& strategy) {
    const auto plan = Plan("name: apex_dqn, modules: [{type: her, strategy: " + strategy + "}]", GoalEnvironment());
    return ValueOf(plan).algorithm.tables[0].table.future_row;
  };
  CHECK(row("final") == FutureRow::kLast);
  CHECK(row("episode") == FutureRow::kEpisode);
  CHECK_THAT(Problem("name: apex_dqn, modules: [{type: her, strategy: episode, horizon: 256}]", GoalEnvironment()),
             Catch::StartsWith("algorithm.modules[0].horizon: got 256; wanted at most 255 beside strategy: episode"));
}

TEST_CASE("hindsight is refused where it does not fit", "[unit]") {
  EnvironmentSpec environment = GoalEnvironment();
  CHECK_THAT(Problem("name: apex_dqn, modules: [{type: her, goal: observation/gaol}]", environment),
             Catch::StartsWith("algorithm.modules[0].goal: got observation/gaol; wanted an observation of line"));
  CHECK_THAT(Problem("name: ppo, modules: [{type: her}]", environment),
             Catch::StartsWith("algorithm.modules[0].type: "));
  CHECK_THAT(Problem("name: apex_dqn, n_step: 5, modules: [{type: her, horizon: 4}]", environment),
             Catch::StartsWith("algorithm.modules[0].horizon: got 4"));
  environment.max_episode_steps = 0;
  CHECK_THAT(Problem("name: apex_dqn, modules: [{type: her}]", environment),
             Catch::StartsWith("algorithm.modules[0].horizon: got none"));
  environment = GoalEnvironment();
  environment.observations[0].array.shape = {2};
  CHECK_THAT(Problem("name: apex_dqn, modules: [{type: her}]", environment),
             Catch::StartsWith("algorithm.modules[0].achieved: got "));
}

// Three transitions of two steps: from 0 over 1 to 2, to the goal 9.
TensorBatch Batch() {
  TensorBatch batch;
  batch.size = 3;
  const auto column = [](float value) { return torch::full({3, 1}, value); };
  batch.fields["observation/achieved_goal"] = column(0);
  batch.fields["next_observation/achieved_goal"] = column(2);
  batch.fields["observation/desired_goal"] = column(9);
  batch.fields["next_observation/desired_goal"] = column(9);
  batch.fields["all_rows/observation/achieved_goal"] =
      torch::tensor({0.F, 1.F, 2.F}).reshape({1, 3, 1}).repeat({3, 1, 1});
  batch.fields["all_rows/observation/desired_goal"] = torch::full({3, 3, 1}, 9.F);
  batch.fields[kOtherGoal] = torch::tensor({{1.F}, {2.F}, {5.F}});
  batch.fields[kReward] = torch::tensor({-1.F, -1.F, 0.F}).repeat({3, 1});
  batch.fields[kDiscount] = torch::ones({3, 3});
  batch.fields[kItemLength] = torch::full({3}, 3, torch::kInt64);
  return batch;
}

absl::Status Rewrite(const HerOptions& options, TensorBatch* batch) {
  const std::unique_ptr<Module> her =
      ValueOf(ValueOf(BuiltinModules().Find("her"))->create(options, /*model=*/nullptr));
  LocalStepper stepper;
  Noise noise(1, torch::kCPU);
  UpdateContext context(&stepper, Progress(), &noise);
  TableBatches batches = {{"transitions", *batch}};
  her->Rewrite(GoalEnvironment(), &batches, &context);
  *batch = batches.at("transitions");
  return context.status();
}

TEST_CASE("a transition with another goal has the rewards and the end of that goal", "[unit]") {
  HerOptions options;
  options.share = 1;
  options.terminates = true;
  TensorBatch batch = Batch();
  const TensorBatch before = batch;
  REQUIRE_OK(Rewrite(options, &batch));
  CHECK(torch::equal(batch.at("observation/desired_goal"), batch.at(kOtherGoal)));
  CHECK(torch::equal(batch.at("next_observation/desired_goal"), batch.at(kOtherGoal)));
  CHECK(torch::equal(batch.at("all_rows/observation/desired_goal").select(1, 1), batch.at(kOtherGoal)));
  // The first goal is reached by the first step, the second by the second, and the third later.
  CHECK(torch::equal(batch.at(kReward).narrow(1, 0, 2), torch::tensor({{0.F, -1.F}, {-1.F, 0.F}, {-1.F, -1.F}})));
  CHECK(torch::equal(batch.at(kDiscount).narrow(1, 0, 2), torch::tensor({{0.F, 1.F}, {1.F, 0.F}, {1.F, 1.F}})));
  // The memory of the batch that came is as before.
  CHECK(torch::equal(before.at("observation/desired_goal"), torch::full({3, 1}, 9.F)));
  CHECK(torch::equal(before.at(kReward).select(1, 0), torch::full({3}, -1.F)));
}

TEST_CASE("a step that ended its episode before the goal ends it for every goal", "[unit]") {
  HerOptions options;
  options.share = 1;
  options.terminates = true;
  TensorBatch batch = Batch();
  batch.fields[kDiscount] = batch.at(kDiscount).clone();
  batch.fields[kDiscount][2][1] = 0;
  REQUIRE_OK(Rewrite(options, &batch));
  CHECK(batch.at(kDiscount)[2][1].item<float>() == 0);
  CHECK(batch.at(kDiscount)[1][0].item<float>() == 1);
}

TEST_CASE("without a share nothing changes, and goals that end no episode leave the discounts", "[unit]") {
  HerOptions options;
  options.share = 0;
  TensorBatch batch = Batch();
  const TensorBatch before = batch;
  REQUIRE_OK(Rewrite(options, &batch));
  for (const auto& [name, field] : before.fields) {
    INFO(name);
    CHECK(torch::equal(batch.at(name), field));
  }
  options.share = 1;
  REQUIRE_OK(Rewrite(options, &batch));
  CHECK(torch::equal(batch.at(kDiscount), before.at(kDiscount)));
}

TEST_CASE("rewards that do not follow from the goals are an error", "[unit]") {
  TensorBatch batch = Batch();
  batch.fields[kReward] = torch::full({3, 3}, 0.5F);
  const absl::Status status = Rewrite(HerOptions(), &batch);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::Contains("got a reward of 0.5") && Catch::Contains("wanted -1"));
}

}  // namespace
}  // namespace waggle
