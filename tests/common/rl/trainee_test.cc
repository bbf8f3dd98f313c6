#include "common/rl/trainee.h"

#include "common/rl/steppers.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"

namespace waggle {
namespace {

TensorBatch Batch() {
  return testing::DqnBatch(torch::ones({2, 3}), {0, 1}, torch::ones({2, 3}), torch::ones({2, 3}), torch::zeros({2, 3}),
                           {4, 4});
}

TEST_CASE("a trainee computes an experiment's algorithm", "[unit]") {
  const Experiment experiment = testing::DqnExperiment(ApexDqnOptions());
  const auto trainee = testing::ValueOf(testing::DqnTrainee(experiment, testing::DqnEnvironment(3, 2)));
  LocalStepper stepper;
  const UpdateResult result = testing::ValueOf(trainee->Update(Batch(), Progress(), &stepper));
  CHECK(result.priorities[0].sizes() == torch::IntArrayRef({2}));
  CHECK_FALSE(result.metrics.empty());
  const ModelSnapshot snapshot = testing::ValueOf(trainee->Publish());
  CHECK(snapshot.model == "test");
  REQUIRE_OK(trainee->LoadPublished(snapshot));
}

TEST_CASE("what does not fit is refused before anything is built", "[unit]") {
  Experiment experiment = testing::DqnExperiment(ApexDqnOptions());
  experiment.networks["q"].torso = {LayerSpec()};
  experiment.networks["q"].torso[0].type = "conv";
  REQUIRE_CODE(testing::DqnTrainee(experiment, testing::DqnEnvironment(3, 2)), absl::StatusCode::kInvalidArgument);
  experiment = testing::DqnExperiment(ApexDqnOptions());
  experiment.algorithm = "dqn";
  REQUIRE_CODE(testing::DqnTrainee(experiment, testing::DqnEnvironment(3, 2)), absl::StatusCode::kNotFound);
}

TEST_CASE("what LibTorch throws in an update is its error", "[unit]") {
  const Experiment experiment = testing::DqnExperiment(ApexDqnOptions());
  const auto trainee = testing::ValueOf(testing::DqnTrainee(experiment, testing::DqnEnvironment(3, 2)));
  TensorBatch batch = Batch();
  batch.fields[kObservation] = torch::ones({2, 5});
  LocalStepper stepper;
  REQUIRE_CODE(trainee->Update(batch, Progress(), &stepper), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace waggle
