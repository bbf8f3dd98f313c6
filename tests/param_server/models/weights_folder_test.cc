#include "param_server/models/weights_folder.h"

#include <filesystem>

#include "common/base/file.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/model_conformance.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::BytesOf;
using testing::Eventually;
using testing::MakeModel;
using testing::TemporaryFolder;
using testing::ValueOf;

SavedModel Weights(ModelVersion version, const std::string& remark = "") {
  return {MakeModel("x", version), "the experiment", remark};
}

std::unique_ptr<WeightsFolder> OpenFolder(const std::string& folder) {
  WeightsFolderOptions options;
  options.folder = folder;
  options.retry_pause = absl::Milliseconds(1);
  return ValueOf(WeightsFolder::Open(options));
}

TEST_CASE("The last saved weights are there after a restart, also of a smaller step", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("weights/newest");
  {
    const auto kept = OpenFolder(path);
    CHECK_FALSE(kept->TakeRestored().has_value());
    kept->Save(Weights({1, 900}));
    Eventually("they are written", [&] { return !kept->pending(); });
    kept->Save(Weights({2, 20}, "good"));  // A learner that went on from an older checkpoint.
  }
  const auto kept = OpenFolder(path);
  const std::optional<SavedModel> restored = kept->TakeRestored();
  REQUIRE(restored.has_value());
  CHECK(restored->snapshot.version == ModelVersion{2, 20});
  CHECK(BytesOf(restored->snapshot.data) == BytesOf(MakeModel("x", {2, 20}).data));
  CHECK(restored->remark == "good");
  CHECK_FALSE(kept->TakeRestored().has_value());
  kept->Save(Weights({2, 20}, "good"));
  CHECK_FALSE(kept->pending());  // They are on the disk.
  kept->Save(Weights({2, 20}, "confirmed"));
  REQUIRE_OK(kept->Finish());
  CHECK(ValueOf(LoadSavedModel(path)).remark == "confirmed");
}

TEST_CASE("A failed save is tried again, also after the folder was removed", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("best");
  const auto kept = OpenFolder(path);
  std::filesystem::remove_all(path);
  REQUIRE_OK(WriteFileAtomically(path, "in the way"));
  kept->Save(Weights({1, 1}));
  Eventually("an attempt fails", [&] { return !kept->failure().ok(); });
  CHECK(kept->pending());
  CHECK_THAT(std::string(kept->failure().message()), Catch::Contains(path));
  kept->Save(Weights({1, 2}));
  std::filesystem::remove(path);
  Eventually("they are written", [&] { return !kept->pending(); });
  CHECK(kept->failure().ok());
  CHECK(ValueOf(LoadSavedModel(path)).snapshot.version == ModelVersion{1, 2});
}

TEST_CASE("Finish does not wait for a missing disk, and returns the error", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("best");
  const auto kept = OpenFolder(path);
  std::filesystem::remove_all(path);
  REQUIRE_OK(WriteFileAtomically(path, "in the way"));
  kept->Save(Weights({1, 1}));
  CHECK_FALSE(kept->Finish().ok());
  CHECK(kept->pending());
}

TEST_CASE("Damaged weights are an error", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("best");
  {
    const auto kept = OpenFolder(path);
    kept->Save(Weights({1, 1}));
  }
  REQUIRE_OK(WriteFileAtomically(path + "/step-000000000001/checkpoint.safetensors", "nonsense"));
  WeightsFolderOptions options;
  options.folder = path;
  const absl::Status status = WeightsFolder::Open(options).status();
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK_THAT(std::string(status.message()), Catch::Contains("move it away"));
}

}  // namespace
}  // namespace waggle
