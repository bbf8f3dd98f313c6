#include "common/config/experiment/experiment_plan.h"

#include "absl/strings/str_cat.h"
#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"
#include "tests/common/config/experiment/fake_algorithm.h"
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
  CHECK((plan.acting() == std::vector<const NetworkPlan*>{&plan.networks[0]}));
  CHECK(plan.networks[0].name == "q");
  CHECK(plan.networks[0].num_parameters > 0);
  REQUIRE(plan.algorithm.tables.size() == 1);
  CHECK(plan.algorithm.tables[0].table.name == "pole/replay");
  CHECK(plan.algorithm.tables[0].table.seed == 5);
  CHECK(ExperimentPlan().acting().empty());
}

TEST_CASE("a vector reward has a weight for each dimension, by default one", "[unit]") {
  const auto plan = [](const std::string& keys, std::vector<int64_t> shape) {
    EnvironmentSpec environment = testing::FakeEnvironmentSpec();
    environment.rewards[0].shape = std::move(shape);
    return PlanExperiment(
        testing::ValueOf(ParseExperiment("algorithm: {name: fake" + keys + "}\nstop: {max_seconds: 1}\n", "x.yaml", {},
                                         testing::FakeAlgorithms())),
        environment, testing::FakeAlgorithms());
  };
  CHECK(testing::ValueOf(plan("", {})).algorithm.reward_weights.empty());
  CHECK(testing::ValueOf(plan("", {3})).algorithm.reward_weights == std::vector<double>{1, 1, 1});
  CHECK(testing::ValueOf(plan(", reward_weights: [2, -0.5]", {2})).algorithm.reward_weights ==
        std::vector<double>{2, -0.5});
  CHECK(plan(", reward_weights: [1]", {2}).status().message() ==
        "algorithm.reward_weights: got 1 numbers for reward: float32[2]; wanted one for each dimension, or none");
  CHECK(plan(", reward_weights: [1]", {}).status().message() ==
        "algorithm.reward_weights: got 1 numbers for reward: float32[]; wanted none");
}

// Two tables, each with columns of its own; the second one's discounts are of this type.
template <DType discount>
absl::StatusOr<AlgorithmPlan> PlanTwoTables(const testing::FakeOptions&, const PlanContext& context) {
  AlgorithmPlan plan{{NetworkNeed{"q", {{"q", HeadKind::kQ}}}}};
  plan.networks[0].acts = true;
  plan.exploration.type = "none";
  plan.tables = {TransitionTable(context, 1), TransitionTable(context, 1)};
  plan.tables[1].table.name = "rewards";
  plan.tables[1].table.signature = {ArraySpec{kStepType, DType::kInt32, {}}, ArraySpec{kDiscount, discount, {}}};
  plan.tables[1].table.view = {{kStepType, kStepType, ViewField::Rows::kFirst}};
  return plan;
}

TEST_CASE("tables have the columns of all, and each shows its own", "[unit]") {
  const auto plan = [](const auto& plan_tables) {
    AlgorithmDefinitions definitions("algorithm");
    REQUIRE_OK(definitions.Register("two", Define(
                                               "for tests", {SpaceKind::kDiscrete}, [](Experiment*) {}, plan_tables)));
    return PlanExperiment(testing::ValueOf(ParseExperiment("algorithm: {name: two}\nstop: {max_seconds: 1}\n", "x.yaml",
                                                           {}, definitions)),
                          testing::FakeEnvironmentSpec(), definitions);
  };
  const std::vector<TablePlan> tables = testing::ValueOf(plan(PlanTwoTables<DType::kFloat32>)).algorithm.tables;
  CHECK(tables[1].table.signature == tables[0].table.signature);
  CHECK(tables[0].table.signature.back().name == kStepType);
  CHECK(tables[1].table.view.size() == 1);
  const absl::Status other = plan(PlanTwoTables<DType::kFloat64>).status();
  REQUIRE_CODE(other, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(other.message()),
             Catch::EndsWith("rewards: got the column discount: float64[]; wanted that of the other tables, discount: "
                             "float32[]"));
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

TEST_CASE("an exploration that does not fit the network or the action is refused", "[unit]") {
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
      "none, parameter_noise, epsilon_greedy or boltzmann");
  CHECK(problems("boltzmann", real) ==
        "algorithm.exploration.type: boltzmann is for networks that give choices their values; wanted none, "
        "parameter_noise, gaussian, clipped_gaussian, moving_average, uniform or ornstein_uhlenbeck");
  CHECK(problems("epsilon_greedy", choices, /*batch_size=*/7) ==
        "algorithm.exploration.type: epsilon_greedy is for networks that give choices their values; wanted none");
}

struct RememberingOptions : AlgorithmOptions {
  WindowPlan::Kind windows = WindowPlan::Kind::kNStep;

  void Visit(ConfigVisitor&) override {}
  absl::Status Validate() const override { return absl::OkStatus(); }
};

// A table of windows of one kind, and two networks; the first one acts.
absl::StatusOr<AlgorithmPlan> PlanRemembering(const RememberingOptions& options, const PlanContext& context) {
  NetworkNeed actor{"actor", {{"q", HeadKind::kQ}}};
  actor.acts = true;
  AlgorithmPlan algorithm{{actor, NetworkNeed{"critic", {{"value", HeadKind::kValue}}}}};
  algorithm.columns = {NumberColumn("value")};
  TablePlan table;
  table.table = context.replay.TableFor(context.learner.batch_size);
  table.table.name = "windows";
  table.table.signature = {context.environment.observations[0].array};
  table.table.view = {{"observation", "observation", ViewField::Rows::kAll}};
  table.table.max_window = 4;
  table.window = {options.windows, 4, 1};
  algorithm.tables = {table};
  return algorithm;
}

TEST_CASE("a core's state is a column of the stream and of tables of sequences, and no part of transitions", "[unit]") {
  AlgorithmDefinitions algorithms("algorithm");
  REQUIRE_OK(algorithms.Register("remembering",
                                 Define<RememberingOptions>(
                                     "for tests", {SpaceKind::kDiscrete}, [](Experiment*) {}, PlanRemembering)));
  Experiment experiment;
  experiment.algorithm = "remembering";
  auto options = std::make_shared<RememberingOptions>();
  experiment.algorithm_options = options;
  const EnvironmentSpec environment = testing::FakeEnvironmentSpec();
  for (const WindowPlan::Kind kind : {WindowPlan::Kind::kSequence, WindowPlan::Kind::kEpisode}) {
    options->windows = kind;
    experiment.networks["actor"].core = {"lstm", 8};
    experiment.networks["critic"].core = {"none", 64};
    const AlgorithmPlan plan = testing::ValueOf(PlanExperiment(experiment, environment, algorithms)).algorithm;
    CHECK(DebugString(plan.columns) == "[value: float32[], core_state: float32[16]]");
    const TableConfig& table = plan.tables[0].table;
    REQUIRE(table.signature.size() == 2);
    CHECK(table.signature[1].DebugString() == "core_state: float32[16]");
    REQUIRE(table.view.size() == 2);
    CHECK(table.view[1].name == "core_state");
    CHECK(table.view[1].column == "core_state");
    CHECK(table.view[1].rows == ViewField::Rows::kFirst);
    REQUIRE_OK(CheckAgainstEnvironment(experiment, environment, algorithms));
    // The state of a network that does not act is the learner's alone.
    std::swap(experiment.networks["actor"].core, experiment.networks["critic"].core);
    const AlgorithmPlan other = testing::ValueOf(PlanExperiment(experiment, environment, algorithms)).algorithm;
    CHECK(DebugString(other.columns) == "[value: float32[]]");
    CHECK(other.tables[0].table.signature.size() == 1);
  }
  options->windows = WindowPlan::Kind::kNStep;
  experiment.networks["actor"].core = {"gru", 8};
  const auto sentence = [](const std::string& name) {
    return "networks." + name +
           ".core: algorithm remembering learns from transitions, and a core from sequences; wanted the type none";
  };
  const absl::Status refused = PlanExperiment(experiment, environment, algorithms).status();
  CHECK(refused.code() == absl::StatusCode::kInvalidArgument);
  CHECK(refused.message() == sentence("actor") + "\n" + sentence("critic"));
  CHECK_THAT(std::string(CheckAgainstEnvironment(experiment, environment, algorithms).message()),
             Catch::StartsWith(sentence("actor")));
}

struct SynchronousOptions : AlgorithmOptions {
  void Visit(ConfigVisitor&) override {}
  absl::Status Validate() const override { return absl::OkStatus(); }
};

TEST_CASE("if lanes wait for each learner step, it must take an unroll of each and be published", "[unit]") {
  const auto plan = [](const SynchronousOptions&, const PlanContext& context) -> absl::StatusOr<AlgorithmPlan> {
    NetworkNeed network{"actor", {{"policy", HeadKind::kCategorical}}};
    network.acts = true;
    AlgorithmPlan algorithm{{network}};
    algorithm.rows_per_version = 5;
    algorithm.tables = {testing::ValueOf(UnrollTable(context, algorithm, 5))};
    return algorithm;
  };
  AlgorithmDefinitions algorithms("algorithm");
  REQUIRE_OK(algorithms.Register(
      "synchronous", Define<SynchronousOptions>("for tests", {SpaceKind::kDiscrete}, OnPolicyDefaults, plan)));
  const auto problems = [&](const std::string& sections) {
    const Experiment experiment = testing::ValueOf(ParseExperiment(
        "algorithm: {name: synchronous}\nstop: {max_seconds: 1}\n" + sections, "x.yaml", {}, algorithms));
    const EnvironmentSpec environment = testing::FakeEnvironmentSpec();
    const absl::Status planned = PlanExperiment(experiment, environment, algorithms).status();
    CHECK(CheckAgainstEnvironment(experiment, environment, algorithms) == planned);
    return std::string(planned.message());
  };
  CHECK(problems("").empty());
  CHECK(problems("actor: {lanes: 3, processes: 4}\n").empty());
  CHECK(problems("actor: {lanes: 3, processes: 4}\nlearner: {batch_size: 12}\n").empty());
  // Whole unrolls of actors of 3 lanes each, and one of each lane.
  const auto not_all = [](int64_t batch_size) {
    return absl::StrCat(
        "learner.batch_size: got ", batch_size,
        "; wanted a multiple of 3 unrolls in all, the lanes of an actor, and at least 12, the lanes of all actors; "
        "or none, which stands for 12, if the learners can divide it");
  };
  const std::string too_rarely =
      "learner.publish_period_steps: 2: actors wait for the weights of each learner step; wanted 1";
  CHECK(problems("actor: {lanes: 3, processes: 4}\nlearner: {batch_size: 13}\n") == not_all(13));
  CHECK(problems("actor: {lanes: 3, processes: 4}\nlearner: {batch_size: 11}\n") == not_all(11));
  CHECK(problems("actor: {lanes: 3, processes: 4}\nlearner: {batch_size: 9}\n") == not_all(9));
  CHECK(problems("actor: {lanes: 3, processes: 4}\nlearner: {batch_size: 18}\n").empty());
  CHECK(problems("actor: {lanes: 3, processes: {min: 1, max: 4}}\n").empty());
  CHECK(problems("actor: {lanes: 3, processes: {min: 1, max: 4}}\nlearner: {processes: 2}\n").empty());
  CHECK(problems("actor: {lanes: 3, processes: 4}\nlearner: {processes: 2, batch_size: 9}\n").empty());
  CHECK_THAT(problems("actor: {lanes: 3, processes: 4}\nlearner: {processes: 2, batch_size: 4}\n"),
             Catch::StartsWith("learner.batch_size: got 4 for each of 2 learners; wanted a multiple of 3"));
  CHECK_THAT(problems("actor: {lanes: 3, processes: 1}\nlearner: {processes: 2}\n"),
             Catch::StartsWith("learner.batch_size: got 1 for each of 2 learners; wanted a multiple of 3"));
  CHECK(problems("learner: {publish_period_steps: 2}\n") == too_rarely);
  CHECK(problems("actor: {lanes: 3, processes: 4}\nlearner: {batch_size: 13, publish_period_steps: 2}\n") ==
        not_all(13) + "\n" + too_rarely);
  CHECK(problems("learner: {processes: 2}\n").empty());
  CHECK_THAT(problems("learner: {processes: 2, gradients: push}\n"),
             Catch::StartsWith("learner.gradients: got push; wanted local, or learner.processes: 1, because actors of "
                               "algorithm synchronous wait for each step"));
}

TEST_CASE("several learners must have the same weights and observation statistics", "[unit]") {
  const auto problem = [](const std::string& sections) {
    const Experiment experiment = testing::ValueOf(
        ParseExperiment("algorithm: {name: fake}\nstop: {max_seconds: 1}\nlearner: {processes: 2}\n" + sections,
                        "x.yaml", {}, testing::FakeAlgorithms()));
    const EnvironmentSpec environment = testing::FakeEnvironmentSpec();
    const absl::Status planned = PlanExperiment(experiment, environment, testing::FakeAlgorithms()).status();
    CHECK(CheckAgainstEnvironment(experiment, environment, testing::FakeAlgorithms()) == planned);
    return std::string(planned.message());
  };
  CHECK(problem("").empty());
  CHECK_THAT(problem("actor: {inference: server}\n"), Catch::StartsWith("learner.processes: 2: with actor.inference"));
  CHECK_THAT(problem("network: {normalize_observations: true}\n"),
             Catch::StartsWith("learner.processes: 2: each would normalise observations"));
}

TEST_CASE("in lock-step a table keeps no ratio", "[unit]") {
  const auto ratio = [](const std::string& deterministic) {
    const Experiment experiment =
        testing::ValueOf(ParseExperiment("experiment: {deterministic: " + deterministic +
                                             "}\nalgorithm: {name: fake}\nstop: {max_env_steps: 1}\n"
                                             "replay: {rate_limiter: {samples_per_insert: 8}}\n",
                                         "x.yaml", {}, testing::FakeAlgorithms()));
    return testing::ValueOf(PlanExperiment(experiment, testing::FakeEnvironmentSpec(), testing::FakeAlgorithms()))
        .algorithm.tables[0]
        .table.rate_limiter.samples_per_insert;
  };
  CHECK(ratio("false") == 8);
  CHECK(ratio("true") == 0);
}

}  // namespace
}  // namespace waggle
