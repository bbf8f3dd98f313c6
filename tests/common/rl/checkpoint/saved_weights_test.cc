#include "common/rl/checkpoint/saved_weights.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "common/rl/checkpoint/saved_model.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

constexpr char kExperiment[] = "experiment: {name: bees}\n";

void Save(const std::string& folder, const CheckpointContents& contents) {
  REQUIRE_OK(ValueOf(CheckpointStore::Open(folder, 5))->Save(contents));
}

void SaveModel(const std::string& folder, uint64_t version) {
  SavedModel model;
  model.snapshot.model = "bees";
  model.snapshot.version = {2, version};
  model.experiment_yaml = kExperiment;
  model.snapshot.progress.env_steps = static_cast<int64_t>(10 * version);
  Save(folder, ToCheckpoint(model));
}

void SaveLearnerState(const std::string& folder, int64_t step) {
  CheckpointContents contents;
  contents.step = step;
  contents.texts = {{kCheckpointAlgorithm, "fake"}, {kCheckpointExperiment, kExperiment}, {"state/updates", "7"}};
  Save(folder, contents);
}

void CheckModel(const absl::StatusOr<SavedWeights>& weights, SavedKind kind, const std::string& folder,
                uint64_t version) {
  REQUIRE_OK(weights.status());
  CHECK(weights->kind == kind);
  CHECK(weights->folder == folder);
  CHECK(weights->experiment_yaml == kExperiment);
  REQUIRE(weights->snapshot.has_value());
  CHECK(weights->snapshot->version == ModelVersion{2, version});
  CHECK(weights->env_steps == 10.0 * static_cast<double>(version));
  CHECK_FALSE(weights->learner.has_value());
}

TEST_CASE("A run's best weights come before its newest, and these before the learner's checkpoint", "[unit]") {
  const TemporaryFolder run;
  SaveLearnerState(run.File("checkpoints"), 30);
  const SavedWeights learner = ValueOf(LoadSavedWeights(run.path(), false));
  CHECK(learner.kind == SavedKind::kLearner);
  CHECK(learner.folder == run.File("checkpoints"));
  CHECK(learner.experiment_yaml == kExperiment);
  CHECK(learner.learner->step == 30);
  CHECK_FALSE(learner.snapshot.has_value());
  CHECK_FALSE(learner.env_steps.has_value());

  const std::string hub = "hub/experiments/pole-x7k2q/hub/weights/";
  SaveModel(run.File(hub + "newest"), 20);
  CheckModel(LoadSavedWeights(run.path(), false), SavedKind::kNewest, run.File(hub + "newest"), 20);
  SaveModel(run.File(hub + "best"), 10);
  CheckModel(LoadSavedWeights(run.path(), false), SavedKind::kBest, run.File(hub + "best"), 10);
  CheckModel(LoadSavedWeights(run.path(), true), SavedKind::kNewest, run.File(hub + "newest"), 20);
  // The hub's own folder, and the folders in it.
  for (const char* const folder : {"hub/", "hub/experiments/pole-x7k2q", "hub/experiments/pole-x7k2q/hub"}) {
    CheckModel(LoadSavedWeights(run.File(folder), false), SavedKind::kBest, run.File(hub + "best"), 10);
  }
  CheckModel(LoadSavedWeights(run.File(hub), true), SavedKind::kNewest, run.File(hub + "newest"), 20);
  CheckModel(LoadSavedWeights(run.File(hub + "best"), false), SavedKind::kWeights, run.File(hub + "best"), 10);
}

TEST_CASE("A run's networks are those of the learner's checkpoint, or else of its best weights", "[unit]") {
  const TemporaryFolder run;
  SaveModel(run.File("hub/weights/newest"), 20);
  SaveModel(run.File("best"), 10);
  CheckModel(LoadSavedNetworks(run.path()), SavedKind::kBest, run.File("best"), 10);
  SaveLearnerState(run.File("checkpoints"), 30);
  CHECK(ValueOf(LoadSavedNetworks(run.path())).folder == run.File("checkpoints"));
  CheckModel(LoadSavedNetworks(run.File("best")), SavedKind::kWeights, run.File("best"), 10);
  std::ofstream(run.File("x.yaml")) << "algorithm: {name: fake}";
  const absl::Status file = LoadSavedNetworks(run.File("x.yaml")).status();
  REQUIRE_CODE(file, absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(file.message()),
             Catch::Contains(" is a file; wanted a run's folder") && Catch::EndsWith("of a learner's checkpoints"));
}

TEST_CASE("A parameter server's folder with several experiments is refused unless one is named", "[unit]") {
  const TemporaryFolder hub;
  SaveModel(hub.File("experiments/a/hub/weights/best"), 10);
  SaveLearnerState(hub.File("experiments/b/output/checkpoints"), 30);
  const absl::Status several = LoadSavedWeights(hub.path(), false).status();
  REQUIRE_CODE(several, absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(several.message()), Catch::Contains(hub.File("experiments/a")));
  CheckModel(LoadSavedWeights(hub.File("experiments/a"), false), SavedKind::kBest,
             hub.File("experiments/a/hub/weights/best"), 10);
  CHECK(ValueOf(LoadSavedWeights(hub.File("experiments/b"), false)).kind == SavedKind::kLearner);
}

TEST_CASE("The newest weights of a folder are loaded, unless a checkpoint is named", "[unit]") {
  const TemporaryFolder folder;
  SaveModel(folder.path(), 10);
  SaveModel(folder.path(), 20);
  CheckModel(LoadSavedWeights(folder.path(), false), SavedKind::kWeights, folder.path(), 20);
  const std::string first = folder.File("step-000000000010");
  CheckModel(LoadSavedWeights(first, false), SavedKind::kWeights, first, 10);
  CheckModel(LoadSavedWeights(first + "/", false), SavedKind::kWeights, first, 10);

  const TemporaryFolder checkpoints;
  SaveLearnerState(checkpoints.path(), 30);
  SaveLearnerState(checkpoints.path(), 40);
  CHECK(ValueOf(LoadSavedWeights(checkpoints.path(), false)).learner->step == 40);
  CHECK(ValueOf(LoadSavedWeights(checkpoints.File("step-000000000030"), true)).learner->step == 30);
}

TEST_CASE("An experiment's file stands for random actions", "[unit]") {
  const TemporaryFolder folder;
  std::ofstream(folder.File("x.yaml")) << "algorithm: {name: fake}";
  const SavedWeights random = ValueOf(LoadSavedWeights(folder.File("x.yaml"), false));
  CHECK(random.kind == SavedKind::kRandom);
  CHECK(random.folder == folder.File("x.yaml"));
  CHECK(random.experiment_yaml == "algorithm: {name: fake}");
  CHECK_FALSE(random.snapshot.has_value());
  CHECK(std::string(SavedKindName(random.kind)) == "random");
  REQUIRE_CODE(LoadSavedWeights(folder.File("none.yaml"), false), absl::StatusCode::kNotFound);
}

TEST_CASE("A path without weights is refused by its kind", "[unit]") {
  const TemporaryFolder folder;
  const auto check = [&folder](const std::string& name, absl::StatusCode code) {
    const std::string path = folder.File(name);
    const absl::Status status = LoadSavedWeights(path, false).status();
    REQUIRE_CODE(status, code);
    CHECK_THAT(std::string(status.message()), Catch::StartsWith(path));
  };
  std::filesystem::create_directory(folder.File("empty"));
  check("empty", absl::StatusCode::kNotFound);
  std::ofstream(folder.File("empty/file")) << "text";
  check("empty", absl::StatusCode::kNotFound);
  check("empty/file", absl::StatusCode::kNotFound);
  check("none", absl::StatusCode::kNotFound);

  CheckpointContents contents;
  Save(folder.File("other"), contents);
  check("other", absl::StatusCode::kInvalidArgument);
  contents.texts[kCheckpointAlgorithm] = "fake";  // And no experiment.
  Save(folder.File("old"), contents);
  check("old", absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Damaged best weights are an error, even if there are newest ones", "[unit]") {
  const TemporaryFolder run;
  SaveModel(run.File("weights/newest"), 20);
  SaveModel(run.File("weights/best"), 10);
  const std::string best = run.File("weights/best/step-000000000010");
  std::filesystem::remove(best + "/checkpoint.safetensors");
  REQUIRE_CODE(LoadSavedWeights(run.path(), false), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(LoadSavedWeights(best, false), absl::StatusCode::kDataLoss);
  REQUIRE_OK(LoadSavedWeights(run.path(), true));
  // An older whole checkpoint of the best weights is accepted.
  SaveModel(run.File("weights/best"), 5);
  CheckModel(LoadSavedWeights(run.path(), false), SavedKind::kBest, run.File("weights/best"), 5);
}

}  // namespace
}  // namespace waggle
