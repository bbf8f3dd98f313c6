#include "common/rl/training/observation_statistics.h"

#include <cmath>

#include "common/nn/weights_codec.h"
#include "common/rl/training/learner_checkpoint.h"
#include "common/rl/training/steppers.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"
#include "tests/support/networks.h"

namespace waggle {
namespace {

using testing::ValueOf;

Experiment Normalizing() {
  Experiment experiment = testing::DqnExperiment(ApexDqnOptions());
  experiment.networks["q"].normalize_observations = true;
  return experiment;
}

std::unique_ptr<AlgorithmTrainee> Trainee(const Experiment& experiment) {
  return ValueOf(testing::DqnTrainee(experiment, testing::DqnEnvironment(2, 2)));
}

// Two windows that begin with these observations.
TensorBatch Batch(const torch::Tensor& observation) {
  return testing::DqnBatch(observation, {0, 1}, torch::ones({2, 3}), torch::ones({2, 3}), torch::zeros({2, 2}), {4, 4});
}

torch::Tensor Parameter(const Network& network, const std::string& name) {
  const std::vector<ArraySpec>& layout = network.parameters().layout();
  for (size_t i = 0; i < layout.size(); ++i) {
    if (layout[i].name == name) {
      return network.parameters().value_views()[i];
    }
  }
  FAIL("no parameter " << name);
  return {};
}

TEST_CASE("a normalising network and its target hold the mean and the deviation of the learned observations",
          "[unit]") {
  const auto trainee = Trainee(Normalizing());
  LocalStepper stepper;
  REQUIRE_OK(trainee->Update(Batch(torch::tensor({{1.0F, 8.0F}, {3.0F, 8.0F}})), Progress(), &stepper));
  REQUIRE_OK(trainee->Update(Batch(torch::tensor({{5.0F, 8.0F}, {7.0F, 8.0F}})), Progress(), &stepper));
  const Net& net = trainee->model().net("q");
  for (const Network* const network : {&net.network(), net.target_network()}) {
    CHECK(torch::allclose(Parameter(*network, "normalizers.observation.mean"), torch::tensor({4.0F, 8.0F})));
    CHECK(torch::allclose(Parameter(*network, "normalizers.observation.deviation"),
                          torch::tensor({std::sqrt(5.0F), 1e-4F})));
  }
}

TEST_CASE("a normaliser forgets what its average forgets", "[unit]") {
  Experiment experiment = Normalizing();
  experiment.networks["q"].normalizer.average = "window";
  experiment.networks["q"].normalizer.window = 1;
  const auto trainee = Trainee(experiment);
  LocalStepper stepper;
  REQUIRE_OK(trainee->Update(Batch(torch::tensor({{1.0F, 8.0F}, {3.0F, 8.0F}})), Progress(), &stepper));
  REQUIRE_OK(trainee->Update(Batch(torch::tensor({{5.0F, 8.0F}, {7.0F, 8.0F}})), Progress(), &stepper));
  CHECK(torch::allclose(Parameter(trainee->model().net("q").network(), "normalizers.observation.mean"),
                        torch::tensor({6.0F, 8.0F})));
}

TEST_CASE("a network's inputs are on that scale, within bounds", "[unit]") {
  const auto trainee = Trainee(Normalizing());
  const auto plain = Trainee(testing::DqnExperiment(ApexDqnOptions()));
  const Network& network = trainee->model().net("q").network();
  const Network& other = plain->model().net("q").network();
  torch::NoGradGuard no_grad;
  // The learned part is the same. The statistics follow it.
  const int64_t learned = network.plan().num_learned;
  REQUIRE(learned == other.parameters().size());
  other.parameters().values().copy_(network.parameters().values().narrow(0, 0, learned));
  Parameter(network, "normalizers.observation.mean").copy_(torch::tensor({1.0F, -2.0F}));
  Parameter(network, "normalizers.observation.deviation").copy_(torch::tensor({2.0F, 0.5F}));
  const torch::Tensor got = network.Forward({torch::tensor({{3.0F, 100.0F}, {1.0F, -2.5F}})})[0].values;
  const torch::Tensor wanted = other.Forward({torch::tensor({{1.0F, 10.0F}, {0.0F, -1.0F}})})[0].values;
  CHECK(torch::allclose(got, wanted));
}

TEST_CASE("no descent changes the scale, and it is published and saved with the weights", "[unit]") {
  Experiment experiment = Normalizing();
  auto options = ApexDqnOptions();
  options.optimizer.type = "adamw";
  experiment.algorithm_options = std::make_shared<ApexDqnOptions>(options);
  const auto trainee = Trainee(experiment);
  const ParameterGroup* const group = trainee->model().net("q").group();
  CHECK(group->values().numel() == trainee->model().net("q").network().plan().num_learned);
  LocalStepper stepper;
  REQUIRE_OK(trainee->Update(Batch(torch::tensor({{1.0F, 8.0F}, {3.0F, 9.0F}})), Progress(), &stepper));
  const ModelSnapshot snapshot = ValueOf(trainee->Publish());
  const auto second = Trainee(experiment);
  REQUIRE_OK(second->LoadPublished(snapshot));
  const Network& got = second->model().net("q").network();
  CHECK(torch::allclose(Parameter(got, "normalizers.observation.mean"), torch::tensor({2.0F, 8.5F})));
  // They count as much as many rows: two others change them a little.
  REQUIRE_OK(second->Update(Batch(torch::tensor({{102.0F, 8.0F}, {102.0F, 9.0F}})), Progress(), &stepper));
  CHECK(Parameter(got, "normalizers.observation.mean")[0].item<float>() == Approx(2.02).epsilon(0.001));

  const CheckpointContents saved = ValueOf(SaveLearner(1, "apex_dqn", trainee.get()));
  const auto third = Trainee(experiment);
  REQUIRE_OK(RestoreLearner(saved, "apex_dqn", third.get()));
  for (AlgorithmTrainee* const each : {trainee.get(), third.get()}) {
    REQUIRE_OK(each->Update(Batch(torch::tensor({{6.0F, 1.0F}, {8.0F, 3.0F}})), Progress(), &stepper));
  }
  CHECK(torch::equal(third->model().net("q").network().parameters().values(),
                     trainee->model().net("q").network().parameters().values()));
}

TEST_CASE("rows past a window's end do not count", "[unit]") {
  NetworkNeed need{"net", {{"q", HeadKind::kQ}}};
  need.acts = true;
  NetworkSpec spec;
  spec.normalize_observations = true;
  const EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  ExperimentPlan plan;
  plan.algorithm.networks = {need};
  plan.networks = {ValueOf(PlanNetwork(need, spec, environment))};
  TablePlan table;
  table.table.view = {{"observation", "observation", ViewField::Rows::kAll}};
  plan.algorithm.tables = {table};
  const auto model = ValueOf(Model::Create(plan, environment, torch::kCPU, 1));
  TensorBatch batch;
  batch.size = 2;
  batch.fields["observation"] = torch::tensor({1.0F, 2.0F, 90.0F, 3.0F, 90.0F, 90.0F}).view({2, 3, 1});
  batch.fields[kItemLength] = torch::tensor({2, 1}, torch::kInt64);
  ObservationStatistics statistics(&plan, torch::kCPU);
  const TensorBatch* const batches[] = {&batch};
  statistics.Update(batches, model.get());
  CHECK(Parameter(model->net("net").network(), "normalizers.observation.mean").item<float>() == 2);
}

TEST_CASE("normalising an environment without real numbers is an error", "[unit]") {
  NetworkNeed need{"net", {{"q", HeadKind::kQ}}};
  NetworkSpec spec;
  spec.normalize_observations = true;
  EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  environment.observations = {Discrete("observation", 5)};
  const absl::Status status = PlanNetwork(need, spec, environment).status();
  CHECK(status.message() ==
        "networks.net.normalize_observations: environment test shows no real numbers; wanted false");
  // A network of another scale is another network, because their weights do not fit each other.
  environment = testing::DqnEnvironment(1, 2);
  const uint64_t with = ValueOf(PlanNetwork(need, spec, environment)).hash;
  CHECK(ValueOf(PlanNetwork(need, NetworkSpec(), environment)).hash != with);
}

}  // namespace
}  // namespace waggle
