#include "common/rl/checkpoint/checkpoint_store.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "common/base/failpoint.h"
#include "common/base/file.h"
#include "tests/support/catch.h"
#include "tests/support/slices.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

CheckpointArray Array(const std::string& name, const std::vector<float>& values) {
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return {{name, DType::kFloat32, {static_cast<int64_t>(values.size())}}, testing::InTwoSlices(bytes)};
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

bool Same(const CheckpointContents& a, const CheckpointContents& b) {
  bool same = a.step == b.step && a.texts == b.texts && a.arrays.size() == b.arrays.size();
  for (size_t i = 0; same && i < a.arrays.size(); ++i) {
    same = a.arrays[i].spec == b.arrays[i].spec &&
           testing::BytesOf(a.arrays[i].data) == testing::BytesOf(b.arrays[i].data);
  }
  return same;
}

// The folder of a run's checkpoints.
struct Run {
  std::unique_ptr<CheckpointStore> Open(int keep = 2) const { return ValueOf(CheckpointStore::Open(path, keep)); }

  // With steps 1 and 2.
  std::unique_ptr<CheckpointStore> OpenWithTwo() const {
    auto store = Open();
    REQUIRE_OK(store->Save(ContentsOf(1)));
    REQUIRE_OK(store->Save(ContentsOf(2)));
    return store;
  }

  std::string File(const std::string& name) const { return path + "/" + name; }
  std::string FileOf(int64_t step) const { return File(absl::StrFormat("step-%012d/checkpoint.safetensors", step)); }
  std::string Bytes(int64_t step) const { return ValueOf(ReadSmallFile(FileOf(step), size_t{1} << 20)); }
  void SetBytes(int64_t step, const std::string& bytes) const {
    std::ofstream(FileOf(step), std::ios::binary) << bytes;
  }
  // Flips a bit of the last array.
  void Damage(int64_t step) const {
    std::string bytes = Bytes(step);
    bytes.back() ^= 1;
    SetBytes(step, bytes);
  }

  // But for the lock.
  std::vector<std::string> Names() const {
    std::vector<std::string> names = ValueOf(ListFolder(path));
    names.erase(std::remove(names.begin(), names.end(), "LOCK"), names.end());
    std::sort(names.begin(), names.end());
    return names;
  }
  bool LoadsAs(const CheckpointContents& wanted) const {
    const auto loaded = ValueOf(ValueOf(CheckpointStore::OpenToRead(path))->LoadLatest());
    return loaded.has_value() && Same(*loaded, wanted);
  }

  const TemporaryFolder folder;
  const std::string path = folder.File("run");
};

TEST_CASE("a saved checkpoint is loaded from the disk unchanged", "[unit]") {
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
  const Run run;
  const auto store = run.Open(9);
  for (const int64_t step : {int64_t{999999999999}, int64_t{1000000000000}, int64_t{5}}) {
    REQUIRE_OK(store->Save(ContentsOf(step)));
  }
  CHECK(run.LoadsAs(ContentsOf(1000000000000)));
}

TEST_CASE("only the newest checkpoints are kept", "[unit]") {
  const Run run;
  const auto store = run.Open(2);
  for (int64_t step = 1; step <= 4; ++step) {
    REQUIRE_OK(store->Save(ContentsOf(step)));
  }
  CHECK(run.Names() == std::vector<std::string>{"step-000000000003", "step-000000000004"});
}

TEST_CASE("saving a step again replaces its checkpoint", "[unit]") {
  const Run run;
  const auto store = run.Open();
  REQUIRE_OK(store->Save(ContentsOf(3)));
  REQUIRE_OK(store->Save(ContentsOf(3, 0.5F)));
  CHECK(run.LoadsAs(ContentsOf(3, 0.5F)));
  CHECK(run.Names() == std::vector<std::string>{"step-000000000003"});
}

TEST_CASE("contents that break the rules are refused and leave nothing behind", "[unit]") {
  const Run run;
  const auto store = run.Open();
  CheckpointContents contents = ContentsOf(1);
  SECTION("of contents") {
    contents.step = -1;
  }
  SECTION("of the file's format") {
    contents.texts["generator"] = "\xff";
  }
  REQUIRE_CODE(store->Save(contents), absl::StatusCode::kInvalidArgument);
  CHECK(run.Names().empty());
}

TEST_CASE("a damaged checkpoint is passed over", "[unit]") {
  const Run run;
  const auto store = run.OpenWithTwo();
  std::string bytes = run.Bytes(2);
  const std::string other = run.Bytes(1);
  SECTION("its file is missing") {
    REQUIRE_OK(RemoveAll(run.FileOf(2)));
  }
  SECTION("its file is that of another step") {
    run.SetBytes(2, other);
  }
  SECTION("its arrays are those of another step") {
    run.SetBytes(2, bytes.replace(other.size() - 16, 16, other, other.size() - 16, 16));
  }
  CHECK(run.LoadsAs(ContentsOf(1)));
}

TEST_CASE("a checkpoint of format 1 is refused, not passed over, until a newer one is there", "[unit]") {
  const Run run;
  const auto store = run.Open(3);
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(CreateFolder(run.File("step-000000000002")));
  REQUIRE_OK(File::Create(run.File("step-000000000002/MANIFEST")).status());
  const absl::Status status = store->LoadLatest().status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(status.message(), "step-000000000002: it has format version 1"));
  REQUIRE_CODE(store->LoadStep(2), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(store->Save(ContentsOf(3)));
  CHECK(run.Names().size() == 3);
  CHECK(run.LoadsAs(ContentsOf(3)));
}

TEST_CASE("when every checkpoint is damaged the error gives every reason", "[unit]") {
  const Run run;
  const auto store = run.OpenWithTwo();
  run.SetBytes(1, "");
  run.Damage(2);
  const absl::Status status = store->LoadLatest().status();
  REQUIRE_CODE(status, absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(status.message(), "step-000000000001: "));
  CHECK(absl::StrContains(status.message(), "step-000000000002: the arrays are damaged"));
}

TEST_CASE("a checkpoint is loaded by its step, and a damaged one is not passed over", "[unit]") {
  const Run run;
  const auto store = run.OpenWithTwo();
  CHECK(Same(ValueOf(store->LoadStep(1)), ContentsOf(1)));
  CHECK(Same(ValueOf(store->LoadStep(2)), ContentsOf(2)));
  REQUIRE_CODE(store->LoadStep(3), absl::StatusCode::kNotFound);
  REQUIRE_OK(RemoveAll(run.FileOf(2)));
  REQUIRE_CODE(store->LoadStep(2), absl::StatusCode::kDataLoss);
}

TEST_CASE("an error that is no damage is returned, not passed over", "[unit]") {
  const Run run;
  const auto store = run.OpenWithTwo();
  REQUIRE_OK(RemoveAll(run.FileOf(2)));
  std::filesystem::create_symlink(run.FileOf(1), run.FileOf(2));
  REQUIRE_CODE(store->LoadLatest(), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a damaged checkpoint does not push out a whole one", "[unit]") {
  const Run run;
  const auto store = run.Open(2);
  for (int64_t step = 1; step <= 2; ++step) {
    REQUIRE_OK(store->Save(ContentsOf(step)));
  }
  SECTION("damage in the header") {
    run.SetBytes(2, "");
  }
  SECTION("damage in the arrays") {
    run.Damage(2);
    CHECK(ValueOf(store->LoadLatest())->step == 1);
  }
  REQUIRE_OK(store->Save(ContentsOf(3)));
  CHECK(run.Names() == std::vector<std::string>{"step-000000000001", "step-000000000002", "step-000000000003"});
  REQUIRE_OK(store->Save(ContentsOf(4)));
  CHECK(run.Names() == std::vector<std::string>{"step-000000000003", "step-000000000004"});
}

TEST_CASE("a run that went back to an older checkpoint keeps its new saves", "[unit]") {
  const Run run;
  REQUIRE_OK(run.Open(2)->Save(ContentsOf(1)));
  REQUIRE_OK(run.Open(2)->Save(ContentsOf(9)));
  run.Damage(9);
  // A store that never loaded does not know that step 9 is damaged.
  const auto store = run.Open(1);
  REQUIRE_OK(store->Save(ContentsOf(2)));
  CHECK(ValueOf(store->LoadLatest())->step == 2);
  REQUIRE_OK(store->Save(ContentsOf(9)));
  CHECK(run.Names() == std::vector<std::string>{"step-000000000009"});
  CHECK(run.LoadsAs(ContentsOf(9)));
}

TEST_CASE("other names in the folder are left alone", "[unit]") {
  const Run run;
  const auto store = run.Open(1);
  const std::vector<std::string> others = {"best", "step-1", "step-00000000000x", "step--00000000001", "step-"};
  for (const std::string& name : others) {
    REQUIRE_OK(CreateFolder(run.File(name)));
  }
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(store->Save(ContentsOf(2)));
  CHECK(run.Names().size() == others.size() + 1);
  CHECK(run.LoadsAs(ContentsOf(2)));
}

TEST_CASE("remains of an interrupted save are removed, but no similar names", "[unit]") {
  const Run run;
  REQUIRE_OK(CreateFolders(run.path));
  const std::vector<std::string> others = {"tmp-0123456789abcde", "tmp-0123456789abcdef0", "tmp-0123456789abcdeg",
                                           "tmp-results"};
  for (const std::string& name : others) {
    REQUIRE_OK(CreateFolder(run.File(name)));
  }
  REQUIRE_OK(CreateFolder(run.File("tmp-0123456789abcdef")));
  run.Open();
  CHECK(run.Names() == others);
}

TEST_CASE("reading a folder leaves it as it is, also while another store saves in it", "[unit]") {
  const Run run;
  const auto writer = run.Open();
  REQUIRE_OK(writer->Save(ContentsOf(1)));
  REQUIRE_OK(CreateFolder(run.File("tmp-0123456789abcdef")));
  const auto reader = ValueOf(CheckpointStore::OpenToRead(run.path));
  CHECK(ValueOf(reader->LoadLatest())->step == 1);
  REQUIRE_CODE(reader->Save(ContentsOf(2)), absl::StatusCode::kFailedPrecondition);
  CHECK(run.Names() == std::vector<std::string>{"step-000000000001", "tmp-0123456789abcdef"});
  REQUIRE_CODE(CheckpointStore::OpenToRead(run.folder.File("elsewhere")), absl::StatusCode::kNotFound);
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

TEST_CASE("a vanished folder that another learner has taken stays that learner's while it lives", "[unit]") {
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
  const Run run;
  const auto store = run.Open();
  CHECK(ValueOf(store->NewestStep()) == std::nullopt);
  REQUIRE_OK(store->Save(ContentsOf(1)));
  REQUIRE_OK(store->Save(ContentsOf(2)));
  run.SetBytes(2, "");
  CHECK(ValueOf(store->NewestStep()) == 2);
}

TEST_CASE("checkpoints of two runs in one folder are refused by their names", "[unit]") {
  const Run run;
  const auto store = run.Open();
  CheckpointContents contents = ContentsOf(50'000);
  contents.texts[kCheckpointRun] = "cartpole-1";
  REQUIRE_OK(store->Save(contents));
  CHECK(ValueOf(store->LoadLatest())->step == 50'000);
  contents.step = 3'000;
  contents.texts[kCheckpointRun] = "cartpole-2";
  REQUIRE_OK(store->Save(contents));
  const absl::Status status = store->LoadLatest().status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(status.message(), "cartpole-1"));
  CHECK(absl::StrContains(status.message(), "cartpole-2"));
}

#ifdef WAGGLE_FAILPOINTS_ENABLED
// The changes of a save, by their failpoints.
const std::string kChanges[] = {"folder.create", "file.create", "file.write", "file.sync",
                                "file.rename",   "file.remove", "folder.sync"};

// Calls `save` with a store of steps 1 and 2 for each change of a save, and each time that the save makes it. `save`
// saves with that change as its failpoint, and returns true if it reached the failpoint.
void ForEachChange(const std::function<bool(const Run& run, const std::string& change, int time)>& save) {
  int changes = 0;
  for (const std::string& change : kChanges) {
    for (int time = 1, more = 1; more != 0; ++time) {
      CAPTURE(change, time);
      const Run run;
      REQUIRE_OK(run.Open()->Save(ContentsOf(1)));
      REQUIRE_OK(run.Open()->Save(ContentsOf(2)));
      more = save(run, change, time) ? 1 : 0;
      changes += more;
    }
  }
  CHECK(changes > 15);
}

TEST_CASE("a process that is killed before any change leaves the previous or the new checkpoint whole", "[unit]") {
  const bool same_step = GENERATE(false, true);
  const CheckpointContents next = same_step ? ContentsOf(2, 0.5F) : ContentsOf(3);
  int previous_seen = 0;
  int next_seen = 0;
  ForEachChange([&](const Run& run, const std::string& change, int time) {
    const pid_t child = fork();
    if (child == 0) {
      const auto store = CheckpointStore::Open(run.path, 2);
      const bool saved =
          store.ok() && SetFailpoints(absl::StrFormat("%s=abort@%d", change, time)).ok() && (*store)->Save(next).ok();
      _exit(saved ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    const bool killed = WIFSIGNALED(status);
    REQUIRE((killed || status == 0));
    const auto store = run.Open();
    const auto loaded = ValueOf(store->LoadLatest());
    REQUIRE(loaded.has_value());
    const bool is_next = Same(*loaded, next);
    REQUIRE((is_next || (killed && Same(*loaded, ContentsOf(2)))));
    ++(is_next ? next_seen : previous_seen);
    // The next save succeeds, and removes the remains.
    REQUIRE_OK(store->Save(ContentsOf(4)));
    REQUIRE(run.LoadsAs(ContentsOf(4)));
    REQUIRE(run.Names().size() == 2);
    return killed;
  });
  CHECK(previous_seen > 0);
  CHECK(next_seen > 0);
}

TEST_CASE("an error of any change leaves the previous or the new checkpoint and no litter", "[unit]") {
  const bool same_step = GENERATE(false, true);
  const CheckpointContents next = same_step ? ContentsOf(2, 0.5F) : ContentsOf(3);
  int failed = 0;
  ForEachChange([&](const Run& run, const std::string& change, int time) {
    auto store = run.Open();
    REQUIRE_OK(SetFailpoints(absl::StrFormat("%s=error(no space)@%d", change, time)));
    const absl::Status status = store->Save(next);
    bool came_so_far = true;
    for (int i = 0; i < time; ++i) {
      came_so_far = PassFailpoint(change).ok() && came_so_far;
    }
    REQUIRE_OK(SetFailpoints(""));
    failed += status.ok() ? 0 : 1;
    const auto loaded = ValueOf(store->LoadLatest());
    REQUIRE(loaded.has_value());
    REQUIRE((Same(*loaded, next) || (!status.ok() && Same(*loaded, ContentsOf(2)))));
    REQUIRE_OK(store->Save(ContentsOf(4)));
    REQUIRE(run.LoadsAs(ContentsOf(4)));
    // The next start removes the remains.
    store.reset();
    run.Open();
    REQUIRE(run.Names().size() == 2);
    return came_so_far;
  });
  CHECK(failed > 10);
}

TEST_CASE("a checkpoint has its name only once its bytes are on the device, and is saved once its name is", "[unit]") {
  const Run run;
  const auto store = run.Open();
  REQUIRE_OK(store->Save(ContentsOf(1)));
  for (const char* const unsynced : {"file.sync=error(a broken disk)@1", "folder.sync=error(a broken disk)@1"}) {
    REQUIRE_OK(SetFailpoints(unsynced));
    CHECK_FALSE(store->Save(ContentsOf(2)).ok());
    CHECK(run.Names() == std::vector<std::string>{"step-000000000001"});
  }
  REQUIRE_OK(SetFailpoints("folder.sync=error(a broken disk)@2"));
  CHECK_FALSE(store->Save(ContentsOf(2)).ok());
  REQUIRE_OK(SetFailpoints(""));
}
#endif

}  // namespace
}  // namespace waggle
