#include "common/rl/training/trainee.h"

#include "common/rl/algorithms/definitions.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/publishing/initial_weights.h"
#include "common/rl/training/learner_checkpoint.h"
#include "common/rl/training/steppers.h"
#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/algorithm_checks.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

TensorBatch Batch() {
  return testing::DqnBatch(torch::ones({2, 3}), {0, 1}, torch::ones({2, 3}), torch::ones({2, 3}), torch::zeros({2, 3}),
                           {4, 4});
}

// Steps a number by the items of two tables, one of which has priorities.
class TwoTables : public Algorithm {
 public:
  explicit TwoTables(Model* model) : scalar_(model->scalar("number")) {}
  void Update(const Batches& batches, UpdateContext* context) override {
    const torch::Tensor own = batches.at("own").at("value");
    const torch::Tensor given = batches.Has("given") ? batches.at("given").at("value") : torch::zeros({2});
    context->Descend(-scalar_->value() * (own.sum() + 10 * given.sum()), scalar_->group());
    context->SetPriorities("own", own);
    context->SetPriorities("given", given);
  }

 private:
  Scalar* const scalar_;
};

absl::StatusOr<AlgorithmPlan> PlanTwoTables(const testing::FakeOptions&, const PlanContext&) {
  AlgorithmPlan plan;
  plan.exploration.type = "none";
  OptimizerOptions optimizer;
  optimizer.type = "sgd";
  optimizer.learning_rate = 1;
  plan.scalars = {{"number", 0, optimizer}};
  for (const SelectorKind kind : {SelectorKind::kPrioritized, SelectorKind::kUniform}) {
    TablePlan table;
    table.table.name = kind == SelectorKind::kPrioritized ? "own" : "given";
    table.table.signature = {ArraySpec{kReward, DType::kFloat32, {}}};
    table.table.view = {{"value", kReward, ViewField::Rows::kFirst}};
    table.table.max_items = 10;
    table.table.max_bytes = 1 << 20;
    table.table.max_window = 2;
    table.table.sampler.kind = kind;
    plan.tables.push_back(table);
  }
  return plan;
}

AlgorithmDefinitions Definitions() {
  AlgorithmDefinitions definitions("algorithm");
  REQUIRE_OK(
      definitions.Register("two_tables", Define(
                                             "for tests", {SpaceKind::kDiscrete}, [](Experiment*) {}, PlanTwoTables)));
  return definitions;
}

AlgorithmImplementations Implementations() {
  AlgorithmImplementations implementations("algorithm");
  REQUIRE_OK(implementations.Register(
      "two_tables", {[](const AlgorithmOptions&, Model* model) -> absl::StatusOr<std::unique_ptr<Algorithm>> {
        return std::make_unique<TwoTables>(model);
      }}));
  return implementations;
}

TEST_CASE("an algorithm of several tables gets a batch of each by its name, and returns priorities of each", "[unit]") {
  const AlgorithmDefinitions definitions = Definitions();
  const AlgorithmImplementations implementations = Implementations();
  const Experiment experiment = testing::ValueOf(
      ParseExperiment("algorithm: {name: two_tables}\nstop: {max_seconds: 1}\n", "test.yaml", {}, definitions));
  const auto trainee = testing::ValueOf(
      AlgorithmTrainee::Create(experiment, testing::DqnEnvironment(3, 2), definitions, implementations, torch::kCPU));
  TensorBatch own, given;
  own.fields["value"] = torch::ones({3});
  given.fields["value"] = torch::ones({2});
  own.size = 3;
  given.size = 2;
  const TensorBatch* const batches[] = {&own, &given};
  LocalStepper stepper;
  const UpdateResult result = testing::ValueOf(trainee->Update(batches, Progress(), &stepper));
  CHECK(trainee->model().scalar("number")->value().item<float>() == 23);
  REQUIRE(result.priorities.size() == 2);
  CHECK(result.priorities[0].sizes() == torch::IntArrayRef({3}));
  // Not defined for a table that picks nothing by priority.
  CHECK_FALSE(result.priorities[1].defined());
  // An update that does not draw the second one.
  const TensorBatch* const first[] = {&own, nullptr};
  REQUIRE_OK(trainee->Update(first, Progress(), &stepper));
  CHECK(trainee->model().scalar("number")->value().item<float>() == 26);
}

struct PullOptions : ModuleOptions {
  void Visit(ConfigVisitor&) override {}
  absl::Status Validate() const override { return absl::OkStatus(); }
};

// Doubles a table's values, and pulls the number up by another 100 times itself.
class Pull : public Module {
 public:
  Pull(const PullOptions&, Model* model) : scalar_(model->scalar("number")) {}
  void Rewrite(const EnvironmentSpec&, TableBatches* batches, UpdateContext*) override {
    torch::Tensor& value = batches->at("own").fields["value"];
    value = value * 2;
  }
  torch::Tensor Loss(const ParameterGroup& group, const Batches& batches) override {
    return group.name() == "number" ? -100 * scalar_->value() * batches.at("given").at("value").sum() : torch::Tensor();
  }

 private:
  Scalar* const scalar_;
};

TEST_CASE("a module changes what an algorithm sees and adds to its loss, and batches keep their memory", "[unit]") {
  AlgorithmDefinitions definitions = Definitions();
  const auto extend = [](const PullOptions&, const PlanContext&, AlgorithmPlan*) { return absl::OkStatus(); };
  REQUIRE_OK(
      definitions.modules.Register("pull", DefineModule<PullOptions>("for tests", ModuleStage::kRewards, extend)));
  AlgorithmImplementations implementations = Implementations();
  REQUIRE_OK(implementations.modules.Register("pull", ImplementModule<Pull, PullOptions>()));
  const Experiment experiment = testing::ValueOf(
      ParseExperiment("algorithm: {name: two_tables, modules: [{type: pull}]}\nstop: {max_seconds: 1}\n", "test.yaml",
                      {}, definitions));
  const auto trainee = testing::ValueOf(
      AlgorithmTrainee::Create(experiment, testing::DqnEnvironment(3, 2), definitions, implementations, torch::kCPU));
  TensorBatch own, given;
  own.fields["value"] = torch::ones({3});
  given.fields["value"] = torch::ones({2});
  own.size = 3;
  given.size = 2;
  const TensorBatch* const batches[] = {&own, &given};
  LocalStepper stepper;
  const UpdateResult result = testing::ValueOf(trainee->Update(batches, Progress(), &stepper));
  CHECK(trainee->model().scalar("number")->value().item<float>() == 6 + 20 + 200);
  CHECK(torch::equal(own.at("value"), torch::ones({3})));
  CHECK(torch::equal(result.priorities[0], torch::full({3}, 2.F)));
}

TEST_CASE("experiments that do not fit are refused before anything is built", "[unit]") {
  Experiment experiment = testing::DqnExperiment(ApexDqnOptions());
  experiment.networks["q"].torso = {LayerSpec()};
  experiment.networks["q"].torso[0].type = "conv";
  REQUIRE_CODE(testing::DqnTrainee(experiment, testing::DqnEnvironment(3, 2)), absl::StatusCode::kInvalidArgument);
  experiment = testing::DqnExperiment(ApexDqnOptions());
  experiment.algorithm = "dqn";
  REQUIRE_CODE(testing::DqnTrainee(experiment, testing::DqnEnvironment(3, 2)), absl::StatusCode::kNotFound);
}

TEST_CASE("an exception of LibTorch in an update becomes the update's error", "[unit]") {
  const Experiment experiment = testing::DqnExperiment(ApexDqnOptions());
  const auto trainee = testing::ValueOf(testing::DqnTrainee(experiment, testing::DqnEnvironment(3, 2)));
  TensorBatch batch = Batch();
  batch.fields[kObservation] = torch::ones({2, 5});
  LocalStepper stepper;
  REQUIRE_CODE(trainee->Update(batch, Progress(), &stepper), absl::StatusCode::kInternal);
}

TEST_CASE("a trainee begins with another's networks, learned numbers and scale of observations, in targets too",
          "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Box("action", DType::kFloat32, {1}, -1, 1));
  const auto trainee = [&environment](int64_t seed) {
    return testing::TraineeOn(
        "{actor: {normalize_observations: true}, critic: {normalize_observations: true}}\nlearner: {batch_size: 8}",
        "name: sac", environment, torch::kFloat32, seed);
  };
  const auto source = trainee(1), begun = trainee(2);
  LocalStepper stepper;
  testing::Updated(source.get(), testing::RandomTransitions(environment, 8, 5, torch::kFloat32), &stepper);
  const testing::TemporaryFolder folder;
  CheckpointContents contents = testing::ValueOf(SaveLearner(1, "sac", source.get()));
  contents.texts[kCheckpointExperiment] = "experiment: {name: source}";
  REQUIRE_OK(testing::ValueOf(CheckpointStore::Open(folder.path(), 1))->Save(contents));
  const InitialWeights weights = testing::ValueOf(
      FindInitialWeights({folder.path(), {}}, begun->plan(), environment, BuiltinAlgorithmDefinitions()));
  REQUIRE_OK(begun->BeginWith(weights));
  const auto values = [](const std::unique_ptr<AlgorithmTrainee>& of, const char* network) {
    return of->model().net(network).network().parameters().values();
  };
  CHECK(values(begun, "actor").equal(values(source, "actor")));
  CHECK(values(begun, "critic").equal(values(source, "critic")));
  CHECK(begun->model().net("critic").target_network()->parameters().values().equal(values(source, "critic")));
  CHECK(begun->model().scalar("log_temperature")->value().equal(source->model().scalar("log_temperature")->value()));
  // The next batch changes the scale by little, as ten thousand rows are behind it.
  const torch::Tensor before = values(begun, "actor").clone();
  const int64_t learned = begun->plan().networks[0].num_learned;
  testing::Updated(begun.get(), testing::RandomTransitions(environment, 8, 6, torch::kFloat32), &stepper);
  const torch::Tensor moved = (values(begun, "actor") - before).narrow(0, learned, before.size(0) - learned);
  CHECK(moved.abs().max().item<double>() > 0);
  CHECK(moved.abs().max().item<double>() < 0.01);
}

}  // namespace
}  // namespace waggle
