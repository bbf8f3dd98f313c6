#include "common/rl/training/learner_checkpoint.h"

#include "common/rl/algorithms/apex_dqn/apex_dqn.h"
#include "tests/learner/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::CountingTrainee;

TEST_CASE("everything that an algorithm names survives a checkpoint on disk", "[unit]") {
  const testing::TemporaryFolder folder;
  CountingTrainee saved;
  saved.value.fill_(1.25);
  saved.updates = int64_t{1} << 60;
  saved.rate = 1.0 / 3;
  saved.note = std::string("binary \0 text", 13);
  saved.generator.Next();
  {
    const auto store = testing::ValueOf(CheckpointStore::Open(folder.path(), 3));
    REQUIRE_OK(store->Save(testing::ValueOf(SaveLearner(12, "counting", &saved))));
  }
  saved.value.zero_();  // A checkpoint is a copy.
  CountingTrainee restored;
  const auto store = testing::ValueOf(CheckpointStore::Open(folder.path(), 3));
  const auto contents = testing::ValueOf(store->LoadLatest());
  REQUIRE(contents.has_value());
  CHECK(contents->step == 12);
  REQUIRE_OK(RestoreLearner(*contents, "counting", &restored));
  CHECK(torch::equal(restored.value, torch::full({2}, 1.25F)));
  CHECK(restored.updates == saved.updates);
  CHECK(restored.rate == saved.rate);
  CHECK(restored.note == saved.note);
  CHECK(restored.generator.Next() == saved.generator.Next());
}

TEST_CASE("a checkpoint of something else is refused with what differs, and changes nothing", "[unit]") {
  CountingTrainee algorithm;
  algorithm.updates = 7;
  const CheckpointContents good = testing::ValueOf(SaveLearner(12, "counting", &algorithm));
  CountingTrainee other;
  const auto message = [&](const CheckpointContents& contents) {
    const absl::Status status = RestoreLearner(contents, "counting", &other);
    CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK(other.updates == 0);
    return std::string(status.message());
  };
  CHECK(RestoreLearner(good, "apex_dqn", &other).message() ==
        "the checkpoint is of the algorithm \"counting\"; wanted \"apex_dqn\"");
  CheckpointContents contents = good;
  contents.texts.erase("state/inner/rate");
  CHECK(message(contents) == "state/inner/rate is missing in the checkpoint");
  contents = good;
  contents.texts["state/inner/updates"] = "many";
  CHECK(message(contents) == "inner/updates: \"many\" is not a number");
  contents = good;
  contents.texts["state/more"] = "1";
  CHECK(message(contents) == "state/more is in the checkpoint only");
  contents.texts.erase("state/more");
  contents.texts[kCheckpointExperiment] = "of no concern to the algorithm";
  CountingTrainee tolerant;
  REQUIRE_OK(RestoreLearner(contents, "counting", &tolerant));
  contents = good;
  contents.arrays.clear();
  CHECK(message(contents) == "state/value is missing in the checkpoint");
  contents = good;
  contents.arrays[0].spec.shape = {1, 2};
  CHECK(message(contents) == "the checkpoint has state/value: float32[1, 2]; wanted Float[2]");
  REQUIRE_OK(RestoreLearner(good, "counting", &other));
  CHECK(other.updates == 7);
}

TEST_CASE("a checkpoint of another network or optimizer is refused, also where all sizes are the same", "[unit]") {
  const EnvironmentSpec environment = testing::DqnEnvironment(2, 2);
  const auto saved_by = [&](const std::string& activation, const std::string& optimizer, double beta1) {
    ApexDqnOptions options;
    options.optimizer.type = optimizer;
    options.optimizer.beta1 = beta1;
    Experiment experiment = testing::DqnExperiment(options);
    experiment.networks["q"].torso = {LayerSpec()};
    experiment.networks["q"].torso[0].activation = activation;
    return testing::ValueOf(testing::DqnTrainee(experiment, environment));
  };
  const auto trainee = saved_by("relu", "adam", 0.9);
  const auto restore = [&](const std::unique_ptr<AlgorithmTrainee>& other) {
    return RestoreLearner(testing::ValueOf(SaveLearner(1, "apex_dqn", other.get())), "apex_dqn", trainee.get());
  };
  REQUIRE_OK(restore(saved_by("relu", "adam", 0.9)));
  for (const auto& other :
       {saved_by("tanh", "adam", 0.9), saved_by("relu", "adamw", 0.9), saved_by("relu", "adam", 0.5)}) {
    const torch::Tensor before = trainee->model().net("q").group()->values().clone();
    REQUIRE_CODE(restore(other), absl::StatusCode::kFailedPrecondition);
    CHECK(torch::equal(trainee->model().net("q").group()->values(), before));
  }
}

}  // namespace
}  // namespace waggle
