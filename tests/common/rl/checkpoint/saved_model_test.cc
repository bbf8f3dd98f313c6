#include "common/rl/checkpoint/saved_model.h"

#include <cstring>
#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/slices.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

SavedModel Example() {
  SavedModel model;
  ModelSnapshot& snapshot = model.snapshot;
  snapshot.model = "cartpole";
  snapshot.version = {3, 1500};
  snapshot.network_hash = 0xfedcba9876543210;
  snapshot.tensors = {{"weight", DType::kFloat32, {2, 3}}, {"bias", DType::kFloat32, {2}}};
  const std::shared_ptr<char> data = AllocateBytes(32);
  for (int i = 0; i < 8; ++i) {
    const float value = static_cast<float>(i) / 3;
    std::memcpy(data.get() + i * sizeof(value), &value, sizeof(value));
  }
  // Cut where no tensor is.
  snapshot.data.Append({data.get(), 10, data});
  snapshot.data.Append({data.get() + 10, 22, data});
  model.experiment_yaml = "experiment: {name: cartpole}\n";
  snapshot.progress.env_steps = 46'123;
  return model;
}

TEST_CASE("Saved weights come back from the disk as they were", "[unit]") {
  const TemporaryFolder folder;
  const SavedModel model = Example();
  {
    auto store = CheckpointStore::Open(folder.path() + "/best", 1);
    REQUIRE_OK(store.status());
    REQUIRE_OK((*store)->Save(ToCheckpoint(model)));
  }
  const absl::StatusOr<SavedModel> loaded = LoadSavedModel(folder.path() + "/best");
  REQUIRE_OK(loaded.status());
  CHECK(loaded->snapshot.model == model.snapshot.model);
  CHECK(loaded->snapshot.version == model.snapshot.version);
  CHECK(loaded->snapshot.network_hash == model.snapshot.network_hash);
  CHECK(loaded->snapshot.tensors == model.snapshot.tensors);
  CHECK(BytesOf(loaded->snapshot.data) == BytesOf(model.snapshot.data));
  CHECK(loaded->experiment_yaml == model.experiment_yaml);
  CHECK(loaded->snapshot.progress.env_steps == 46'123);
}

TEST_CASE("Weights that are written take the place of all others, also of a later step", "[unit]") {
  const TemporaryFolder folder;
  const auto store = ValueOf(CheckpointStore::Open(folder.path(), 1));
  SavedModel model = Example();
  REQUIRE_OK(WriteSavedModel(model, store.get()));
  model.snapshot.version = {4, 10};
  REQUIRE_OK(WriteSavedModel(model, store.get()));
  CHECK(ValueOf(LoadSavedModel(folder.path())).snapshot.version == ModelVersion{4, 10});
  CHECK(ValueOf(store->NewestStep()) == 10);
  const auto reader = ValueOf(CheckpointStore::OpenToRead(folder.path()));
  CHECK(absl::IsFailedPrecondition(reader->RemoveLater(0)));
}

TEST_CASE("The weights with the highest epoch are loaded if a crash left several", "[unit]") {
  const TemporaryFolder folder;
  auto store = ValueOf(CheckpointStore::Open(folder.path(), 1));
  SavedModel model = Example();
  REQUIRE_OK(WriteSavedModel(model, store.get()));
  model.snapshot.version = {12, 10};
  REQUIRE_OK(store->Save(ToCheckpoint(model)));  // Unlike WriteSavedModel, this removes no later ones.
  REQUIRE(ValueOf(store->NewestStep()) == 1500);
  CHECK(ValueOf(LoadSavedModel(folder.path())).snapshot.version == ModelVersion{12, 10});
  model.snapshot.version = {12, 20};
  REQUIRE_OK(store->Save(ToCheckpoint(model)));
  CHECK(ValueOf(LoadSavedModel(folder.path())).snapshot.version == ModelVersion{12, 20});
  // Unreadable weights are passed over.
  std::filesystem::resize_file(folder.path() + "/step-000000000020/checkpoint.safetensors", 3);
  CHECK(ValueOf(LoadSavedModel(folder.path())).snapshot.version == ModelVersion{3, 1500});
  // The next write replaces all.
  model.snapshot.version = {12, 30};
  REQUIRE_OK(WriteSavedModel(model, store.get()));
  CHECK(ValueOf(store->NewestStep()) == 30);
}

TEST_CASE("A checkpoint of something else is not taken for weights", "[unit]") {
  CheckpointContents contents = ToCheckpoint(Example());
  contents.texts.erase("network_hash");
  CHECK(absl::IsInvalidArgument(ToSavedModel(contents).status()));
  contents.texts["network_hash"] = "many";
  CHECK(absl::IsInvalidArgument(ToSavedModel(contents).status()));
}

TEST_CASE("A folder without weights is an error", "[unit]") {
  const TemporaryFolder folder;
  CHECK(absl::IsNotFound(LoadSavedModel(folder.path() + "/best").status()));
  REQUIRE_OK(CheckpointStore::Open(folder.path() + "/best", 1).status());
  CHECK(absl::IsNotFound(LoadSavedModel(folder.path() + "/best").status()));
}

}  // namespace
}  // namespace waggle::testing
