#include "common/rl/learner_checkpoint.h"

#include "common/rl/algorithms/apex_dqn.h"
#include "common/rl/steppers.h"
#include "tests/learner/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::CountingAlgorithm;

TEST_CASE("everything that an algorithm names survives a checkpoint on disk", "[unit]") {
  const testing::TemporaryFolder folder;
  CountingAlgorithm saved;
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
  CountingAlgorithm restored;
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
  CountingAlgorithm algorithm;
  algorithm.updates = 7;
  const CheckpointContents good = testing::ValueOf(SaveLearner(12, "counting", &algorithm));
  CountingAlgorithm other;
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
  CountingAlgorithm tolerant;
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

TEST_CASE("a restored Ape-X DQN learns on exactly as the one that was saved", "[unit]") {
  ApexDqnOptions options;
  options.update_steps = 3;
  options.importance_anneal_steps = 10;
  Experiment experiment = testing::DqnExperiment(options);
  experiment.network.torso = {LayerSpec()};
  const AlgorithmContext context = {&experiment, testing::DqnEnvironment(2, 2), torch::kCPU};
  const auto one = testing::ValueOf(ApexDqn::Create(context));
  LocalStepper stepper;
  torch::manual_seed(1);
  TensorBatch batch = testing::DqnBatch(torch::randn({8, 2}), {0, 1, 1, 0, 1, 0, 0, 1}, torch::randn({8, 4}),
                                        torch::ones({8, 4}), torch::randn({8, 2}), {4, 4, 4, 4, 4, 4, 4, 4});
  batch.fields[kItemProbability] = torch::rand({8}, torch::kFloat64) + 0.1;
  for (int step = 0; step < 4; ++step) {
    REQUIRE_OK(one->Update(batch, &stepper));
  }
  const CheckpointContents contents = testing::ValueOf(SaveLearner(4, "apex_dqn", one.get()));
  experiment.experiment.seed = 99;  // Other first values, which the checkpoint replaces.
  const auto two = testing::ValueOf(ApexDqn::Create(context));
  REQUIRE_OK(RestoreLearner(contents, "apex_dqn", two.get()));
  for (int step = 0; step < 10; ++step) {
    const UpdateResult a = testing::ValueOf(one->Update(batch, &stepper));
    const UpdateResult b = testing::ValueOf(two->Update(batch, &stepper));
    REQUIRE(torch::equal(a.priorities, b.priorities));
  }
}

}  // namespace
}  // namespace waggle
