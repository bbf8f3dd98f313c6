#include "common/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "tests/common/checkpoint/simulated_file_system.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::SimulatedFileSystem;
using testing::TemporaryFolder;
using testing::ValueOf;

constexpr char kFolder[] = "run";

CheckpointArray Array(const std::string& name, const std::vector<float>& values) {
  const size_t size = values.size() * sizeof(float);
  std::shared_ptr<char> bytes = AllocateBytes(size);
  std::copy_n(reinterpret_cast<const char*>(values.data()), size, bytes.get());
  CheckpointArray array{{name, DType::kFloat32, {static_cast<int64_t>(values.size())}}, {}};
  // Two slices, as they come off the wire.
  array.data.Append({bytes.get(), size / 2, bytes});
  array.data.Append({bytes.get() + size / 2, size - size / 2, bytes});
  return array;
}

// Contents that follow from the step, and differ between steps.
CheckpointContents ContentsOf(int64_t step, float salt = 0) {
  CheckpointContents contents;
  contents.step = step;
  contents.texts = {{"generator", "1 2 \"3\"\n\\"}, {"bytes", std::string("\0\x7f\x01", 3)}, {"empty", ""}};
  const auto value = static_cast<float>(step);
  contents.arrays.push_back(Array("policy/weight", {value, value + 1, value + 2 + salt}));
  contents.arrays.push_back(Array("nothing", {}));
  contents.arrays.push_back(Array("policy/bias", {value}));
  return contents;
}

std::string FileOf(int64_t step) {
  return absl::StrFormat("%s/step-%012d/checkpoint.safetensors", kFolder, step);
}

std::string BytesOf(const ByteSlices& data) {
  std::string bytes(data.size(), '\0');
  data.CopyTo(bytes.data());
  return bytes;
}

bool Same(const CheckpointContents& a, const CheckpointContents& b) {
  bool same = a.step == b.step && a.texts == b.texts && a.arrays.size() == b.arrays.size();
  for (size_t i = 0; same && i < a.arrays.size(); ++i) {
    same = a.arrays[i].spec == b.arrays[i].spec && BytesOf(a.arrays[i].data) == BytesOf(b.arrays[i].data);
  }
  return same;
}

std::unique_ptr<CheckpointStore> OpenStore(FileSystem* file_system, int keep = 2) {
  return ValueOf(CheckpointStore::Open(kFolder, keep, file_system));
}

std::vector<std::string> Names(FileSystem* file_system) {
  std::vector<std::string> names = ValueOf(file_system->ListFolder(kFolder));
  std::sort(names.begin(), names.end());
  return names;
}

bool LoadsAs(FileSystem* file_system, const CheckpointContents& wanted) {
  const auto loaded = ValueOf(ValueOf(CheckpointStore::OpenToRead(kFolder, file_system))->LoadLatest());
  return loaded.has_value() && Same(*loaded, wanted);
}

TEST_CASE("a store without checkpoints loads nothing", "[unit]") {
  SimulatedFileSystem file_system;
  CHECK_FALSE(ValueOf(OpenStore(&file_system)->LoadLatest()).has_value());
}

TEST_CASE("what was saved on the disk is loaded, bytes and all", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("a/b/checkpoints");
  {
    const auto store = ValueOf(CheckpointStore::Open(path, 2));
    REQUIRE_OK(store->Save(ContentsOf(7)));
    REQUIRE_OK(store->Save(ContentsOf(12345)));
  }
  CHECK(std::filesystem::exists(path + "/step-000000012345/checkpoint.safetensors"));
  const auto loaded = ValueOf(ValueOf(CheckpointStore::Open(path, 2))->LoadLatest());
  REQUIRE(loaded.has_value());
  CHECK(Same(*loaded, ContentsOf(12345)));
}

TEST_CASE("the newest checkpoint is the one of the highest step, in numbers not letters", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system, 9);
  for (const int64_t step : {int64_t{999999999999}, int64_t{1000000000000}, int64_t{5}}) {
    REQUIRE_OK(store->Save(ContentsOf(step)));
  }
  CHECK(LoadsAs(&file_system, ContentsOf(1000000000000)));
}

TEST_CASE("only the newest checkpoints are kept", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system, 2);
  for (int64_t step = 1; step <= 4; ++step) {
    REQUIRE_OK(store->Save(ContentsOf(step)));
  }
  CHECK(Names(&file_system) == std::vector<std::string>{"step-000000000003", "step-000000000004"});
}

TEST_CASE("saving a step again replaces its checkpoint", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system);
  REQUIRE_OK(store->Save(ContentsOf(3)));
  REQUIRE_OK(store->Save(ContentsOf(3, 0.5F)));
  CHECK(LoadsAs(&file_system, ContentsOf(3, 0.5F)));
  CHECK(Names(&file_system) == std::vector<std::string>{"step-000000000003"});
}

TEST_CASE("contents that break the rules are refused and leave nothing behind", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system);
  CheckpointContents contents = ContentsOf(1);
  SECTION("a negative step") {
    contents.step = -1;
  }
  SECTION("an array with too few bytes") {
    contents.arrays[0].spec.shape = {4};
  }
  SECTION("a text that is not UTF-8") {
    contents.texts["generator"] = "\xff";
  }
  SECTION("texts that are too large for a header") {
    contents.texts["large"] = std::string(kMaxSafetensorsHeaderBytes, 'x');
  }
  REQUIRE_CODE(store->Save(contents), absl::StatusCode::kInvalidArgument);
  CHECK(Names(&file_system).empty());
}

TEST_CASE("a store keeps at least one checkpoint", "[unit]") {
  SimulatedFileSystem file_system;
  REQUIRE_CODE(CheckpointStore::Open(kFolder, 0, &file_system), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a folder that cannot be made is an error that names it", "[unit]") {
  const TemporaryFolder folder;
  std::ofstream(folder.File("taken")) << "a file";
  const absl::Status status = CheckpointStore::Open(folder.File("taken"), 1).status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(status.message(), folder.File("taken")));
}

TEST_CASE("a damaged checkpoint is passed over", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system);
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(store->Save(ContentsOf(2)));
  const std::string newest = FileOf(2);
  SECTION("its file is missing") {
    REQUIRE_OK(file_system.RemoveAll(newest));
  }
  SECTION("its file is empty") {
    file_system.Bytes(newest)->clear();
  }
  SECTION("its header is larger than any") {
    file_system.Bytes(newest)->replace(0, 8, std::string("\0\0\0\x04\0\0\0\x01", 8));
  }
  SECTION("its file is that of another step") {
    *file_system.Bytes(newest) = *file_system.Bytes(FileOf(1));
  }
  SECTION("its file is cut short") {
    file_system.Bytes(newest)->pop_back();
  }
  SECTION("its file is too long") {
    file_system.Bytes(newest)->push_back(0);
  }
  SECTION("its arrays are those of another step") {
    const std::string other = *file_system.Bytes(FileOf(1));
    file_system.Bytes(newest)->replace(other.size() - 16, 16, other, other.size() - 16, 16);
  }
  CHECK(LoadsAs(&file_system, ContentsOf(1)));
}

TEST_CASE("no flipped bit is ever loaded", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system);
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(store->Save(ContentsOf(2)));
  std::string* const bytes = file_system.Bytes(FileOf(2));
  for (size_t i = 0; i < bytes->size() * 8; ++i) {
    CAPTURE(i);
    (*bytes)[i / 8] = static_cast<char>((*bytes)[i / 8] ^ (1 << (i % 8)));
    const auto loaded = ValueOf(store->LoadLatest());
    REQUIRE(loaded.has_value());
    REQUIRE(Same(*loaded, ContentsOf(1)));
    (*bytes)[i / 8] = static_cast<char>((*bytes)[i / 8] ^ (1 << (i % 8)));
  }
}

TEST_CASE("a checkpoint of format 1 is refused, not passed over, until a newer one is there", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system, 3);
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(file_system.CreateFolder("run/step-000000000002"));
  REQUIRE_OK(file_system.CreateFile("run/step-000000000002/MANIFEST").status());
  const absl::Status status = store->LoadLatest().status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(status.message(), "step-000000000002: it has format version 1"));
  REQUIRE_CODE(store->LoadStep(2), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(store->Save(ContentsOf(3)));
  CHECK(Names(&file_system).size() == 3);
  CHECK(LoadsAs(&file_system, ContentsOf(3)));
}

TEST_CASE("when every checkpoint is damaged the error gives every reason", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system);
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(store->Save(ContentsOf(2)));
  file_system.Bytes(FileOf(1))->clear();
  file_system.Bytes(FileOf(2))->back() ^= 1;
  const absl::Status status = store->LoadLatest().status();
  REQUIRE_CODE(status, absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(status.message(), "step-000000000001: "));
  CHECK(absl::StrContains(status.message(), "step-000000000002: the arrays are damaged"));
}

TEST_CASE("a checkpoint is loaded by its step, and a damaged one is not passed over", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system);
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(store->Save(ContentsOf(2)));
  CHECK(Same(ValueOf(store->LoadStep(1)), ContentsOf(1)));
  CHECK(Same(ValueOf(store->LoadStep(2)), ContentsOf(2)));
  REQUIRE_CODE(store->LoadStep(3), absl::StatusCode::kNotFound);
  REQUIRE_OK(file_system.RemoveAll(FileOf(2)));
  REQUIRE_CODE(store->LoadStep(2), absl::StatusCode::kDataLoss);
}

TEST_CASE("an error that is no damage is returned, not passed over", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system);
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(store->Save(ContentsOf(2)));
  file_system.FailAt(1, absl::PermissionDeniedError("not yours"), false);
  REQUIRE_CODE(store->LoadLatest(), absl::StatusCode::kPermissionDenied);
}

TEST_CASE("a damaged checkpoint does not push out a whole one", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system, 2);
  for (int64_t step = 1; step <= 2; ++step) {
    REQUIRE_OK(store->Save(ContentsOf(step)));
  }
  SECTION("that its header shows") {
    file_system.Bytes(FileOf(2))->clear();
  }
  SECTION("that only its arrays show") {
    file_system.Bytes(FileOf(2))->back() ^= 1;
    CHECK(ValueOf(store->LoadLatest())->step == 1);
  }
  REQUIRE_OK(store->Save(ContentsOf(3)));
  CHECK(Names(&file_system) == std::vector<std::string>{"step-000000000001", "step-000000000002", "step-000000000003"});
  REQUIRE_OK(store->Save(ContentsOf(4)));
  CHECK(Names(&file_system) == std::vector<std::string>{"step-000000000003", "step-000000000004"});
}

TEST_CASE("a run that went back to an older checkpoint keeps what it saves then", "[unit]") {
  SimulatedFileSystem file_system;
  REQUIRE_OK(OpenStore(&file_system, 2)->Save(ContentsOf(1)));
  REQUIRE_OK(OpenStore(&file_system, 2)->Save(ContentsOf(9)));
  file_system.Bytes(FileOf(9))->back() ^= 1;
  // A store that never loaded does not know that step 9 is damaged.
  const auto store = OpenStore(&file_system, 1);
  REQUIRE_OK(store->Save(ContentsOf(2)));
  CHECK(ValueOf(store->LoadLatest())->step == 2);
  REQUIRE_OK(store->Save(ContentsOf(9)));
  CHECK(Names(&file_system) == std::vector<std::string>{"step-000000000009"});
  CHECK(LoadsAs(&file_system, ContentsOf(9)));
}

TEST_CASE("other names in the folder are left alone", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system, 1);
  const std::vector<std::string> others = {"best", "step-1", "step-00000000000x", "step--00000000001", "step-"};
  for (const std::string& name : others) {
    REQUIRE_OK(file_system.CreateFolder("run/" + name));
  }
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(store->Save(ContentsOf(2)));
  CHECK(Names(&file_system).size() == others.size() + 1);
  CHECK(LoadsAs(&file_system, ContentsOf(2)));
}

TEST_CASE("what a save that was cut short left is removed", "[unit]") {
  SimulatedFileSystem file_system;
  REQUIRE_OK(OpenStore(&file_system)->Save(ContentsOf(1)));
  REQUIRE_OK(file_system.CreateFolder("run/tmp-0123456789abcdef"));
  OpenStore(&file_system);
  CHECK(Names(&file_system) == std::vector<std::string>{"step-000000000001"});
}

TEST_CASE("only what a save left is removed, not what is named alike", "[unit]") {
  SimulatedFileSystem file_system;
  REQUIRE_OK(file_system.CreateFolder(kFolder));
  const std::vector<std::string> others = {"tmp-0123456789abcde", "tmp-0123456789abcdef0", "tmp-0123456789abcdeg",
                                           "tmp-results"};
  for (const std::string& name : others) {
    REQUIRE_OK(file_system.CreateFolder("run/" + name));
  }
  OpenStore(&file_system);
  CHECK(Names(&file_system) == others);
}

TEST_CASE("reading a folder leaves it as it is, also while another store saves in it", "[unit]") {
  SimulatedFileSystem file_system;
  const auto writer = OpenStore(&file_system);
  REQUIRE_OK(writer->Save(ContentsOf(1)));
  REQUIRE_OK(file_system.CreateFolder("run/tmp-0123456789abcdef"));
  const auto reader = ValueOf(CheckpointStore::OpenToRead(kFolder, &file_system));
  CHECK(ValueOf(reader->LoadLatest())->step == 1);
  REQUIRE_CODE(reader->Save(ContentsOf(2)), absl::StatusCode::kFailedPrecondition);
  CHECK(Names(&file_system) == std::vector<std::string>{"step-000000000001", "tmp-0123456789abcdef"});
  REQUIRE_CODE(CheckpointStore::OpenToRead("elsewhere", &file_system), absl::StatusCode::kNotFound);
}

TEST_CASE("a folder has one writer at a time", "[unit]") {
  const TemporaryFolder folder;
  auto first = ValueOf(CheckpointStore::Open(folder.path(), 2));
  const absl::Status status = CheckpointStore::Open(folder.path(), 2).status();
  REQUIRE_CODE(status, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(status.message(), folder.path() + ": another process writes here"));
  first.reset();
  REQUIRE_OK(CheckpointStore::Open(folder.path(), 2));
}

TEST_CASE("a folder that vanishes is made again, also later and under another lock", "[unit]") {
  const TemporaryFolder parent;
  const std::string folder = parent.File("out/checkpoints");
  const auto store = ValueOf(CheckpointStore::Open(folder, 2));
  REQUIRE_OK(store->Save(ContentsOf(1)));
  std::filesystem::remove_all(parent.File("out"));
  std::ofstream(parent.File("out")) << "in the way";
  REQUIRE_CODE(store->Save(ContentsOf(2)), absl::StatusCode::kFailedPrecondition);
  std::filesystem::remove(parent.File("out"));
  REQUIRE_OK(store->Save(ContentsOf(3)));
  CHECK(Same(*ValueOf(store->LoadLatest()), ContentsOf(3)));
  REQUIRE_CODE(CheckpointStore::Open(folder, 2), absl::StatusCode::kUnavailable);
}

TEST_CASE("a folder that vanished and is another learner's now is left to that one while it lives", "[unit]") {
  const TemporaryFolder parent;
  const std::string folder = parent.File("checkpoints");
  const auto store = ValueOf(CheckpointStore::Open(folder, 2));
  std::filesystem::remove_all(folder);
  auto other = ValueOf(CheckpointStore::Open(folder, 2));
  REQUIRE_CODE(store->Save(ContentsOf(1)), absl::StatusCode::kUnavailable);
  REQUIRE_CODE(store->Save(ContentsOf(2)), absl::StatusCode::kUnavailable);
  CHECK(ValueOf(store->NewestStep()) == std::nullopt);
  REQUIRE_OK(other->Save(ContentsOf(4)));
  REQUIRE_CODE(store->RemoveLater(0), absl::StatusCode::kUnavailable);
  CHECK(ValueOf(store->NewestStep()) == 4);
  other.reset();
  REQUIRE_OK(store->RemoveLater(3));
  CHECK(ValueOf(store->NewestStep()) == std::nullopt);
  REQUIRE_OK(store->Save(ContentsOf(3)));
}

TEST_CASE("the newest step counts damaged checkpoints too", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system);
  CHECK(ValueOf(store->NewestStep()) == std::nullopt);
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(store->Save(ContentsOf(2)));
  file_system.Bytes(FileOf(2))->clear();
  CHECK(ValueOf(store->NewestStep()) == 2);
}

TEST_CASE("checkpoints of two runs in one folder are refused by their names", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = OpenStore(&file_system);
  CheckpointContents contents = ContentsOf(50'000);
  contents.texts[kCheckpointRun] = "cartpole-1";
  REQUIRE_OK(store->Save(contents));
  CHECK(ValueOf(store->LoadLatest())->step == 50'000);
  contents.step = 3'000;
  contents.texts[kCheckpointRun] = "cartpole-2";
  REQUIRE_OK(store->Save(contents));
  const absl::Status status = store->LoadLatest().status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(
      status.message() ==
      "run holds checkpoints of several runs: step 50000 is of cartpole-1, step 3000 of cartpole-2; move those of one "
      "away");
}

// Saves `next` over a store that holds `before`, with a failure at each operation in turn, until one save has none.
// `afterwards` sees the file system after each. Returns the number of operations.
template <class Afterwards>
int64_t WithFailureAtEveryOperation(const std::vector<CheckpointContents>& before, const CheckpointContents& next,
                                    const absl::Status& error, bool dead, const Afterwards& afterwards) {
  for (int64_t index = 0;; ++index) {
    CAPTURE(index);
    SimulatedFileSystem file_system;
    auto store = OpenStore(&file_system);
    for (const CheckpointContents& contents : before) {
      REQUIRE_OK(store->Save(contents));
    }
    file_system.FailAt(index, error, dead);
    const absl::Status status = store->Save(next);
    if (file_system.operations() <= index) {
      REQUIRE_OK(status);
      return index;
    }
    file_system.FailNothing();
    afterwards(status, &file_system, &store);
  }
}

TEST_CASE("a crash between any two operations leaves the previous or the new checkpoint whole", "[unit]") {
  using Leaves = SimulatedFileSystem::Leaves;
  const Leaves leaves = GENERATE(Leaves::kAll, Leaves::kNames, Leaves::kNothing);
  const bool same_step = GENERATE(false, true);
  const CheckpointContents previous = ContentsOf(2);
  const CheckpointContents next = same_step ? ContentsOf(2, 0.5F) : ContentsOf(3);
  int64_t previous_seen = 0;
  int64_t next_seen = 0;
  const auto check = [&](const absl::Status& status, SimulatedFileSystem* file_system,
                         std::unique_ptr<CheckpointStore>*) {
    file_system->CutPower(leaves);
    const auto store = OpenStore(file_system);
    const auto loaded = ValueOf(store->LoadLatest());
    REQUIRE(loaded.has_value());
    const bool is_next = Same(*loaded, next);
    REQUIRE((is_next || Same(*loaded, previous)));
    // What was acknowledged stays.
    REQUIRE((is_next || !status.ok()));
    ++(is_next ? next_seen : previous_seen);
    // The next one goes through, and its leavings are gone after it.
    REQUIRE_OK(store->Save(ContentsOf(4)));
    REQUIRE(LoadsAs(file_system, ContentsOf(4)));
    REQUIRE(Names(file_system).size() == 2);
  };
  const int64_t operations =
      WithFailureAtEveryOperation({ContentsOf(1), previous}, next, absl::AbortedError("crashed"), true, check);
  CHECK(operations > 20);
  CHECK(previous_seen > 0);
  CHECK(next_seen > 0);
}

TEST_CASE("an error of any operation leaves the previous or the new checkpoint and no litter", "[unit]") {
  const absl::Status error = GENERATE(absl::ResourceExhaustedError("no space left"), absl::DataLossError("sync failed"),
                                      absl::NotFoundError("gone"));
  const bool same_step = GENERATE(false, true);
  const CheckpointContents previous = ContentsOf(2);
  const CheckpointContents next = same_step ? ContentsOf(2, 0.5F) : ContentsOf(3);
  int64_t failed = 0;
  const auto check = [&](const absl::Status& status, SimulatedFileSystem* file_system,
                         std::unique_ptr<CheckpointStore>* store) {
    failed += status.ok() ? 0 : 1;
    const auto loaded = ValueOf((*store)->LoadLatest());
    REQUIRE(loaded.has_value());
    REQUIRE((Same(*loaded, next) || (!status.ok() && Same(*loaded, previous))));
    REQUIRE_OK((*store)->Save(ContentsOf(4)));
    REQUIRE(LoadsAs(file_system, ContentsOf(4)));
    // What could not be removed goes at the next start.
    store->reset();
    OpenStore(file_system);
    REQUIRE(Names(file_system).size() == 2);
  };
  const int64_t operations = WithFailureAtEveryOperation({ContentsOf(1), previous}, next, error, false, check);
  CHECK(operations > 20);
  CHECK(failed > 10);
}

}  // namespace
}  // namespace waggle
