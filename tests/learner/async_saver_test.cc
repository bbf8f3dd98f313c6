#include "learner/async_saver.h"

#include "common/base/stop_token.h"
#include "tests/common/checkpoint/simulated_file_system.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::SimulatedFileSystem;
using testing::ValueOf;

// A disk that hangs at the first file that is written, until it is released.
class HangingFileSystem : public SimulatedFileSystem {
 public:
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateFile(const std::string& path) override {
    arrived.RequestStop();
    released.Wait();
    return SimulatedFileSystem::CreateFile(path);
  }

  const StopToken arrived;
  const StopToken released;
};

CheckpointContents AtStep(int64_t step) {
  CheckpointContents contents;
  contents.step = step;
  return contents;
}

TEST_CASE("saving does not wait for the disk, and the last one can be waited for", "[unit]") {
  HangingFileSystem file_system;
  const auto store = ValueOf(CheckpointStore::Open("run", 9, &file_system));
  AsyncSaver saver(store.get());
  CHECK_FALSE(saver.busy());
  REQUIRE_OK(saver.Save(AtStep(1)));
  file_system.arrived.Wait();
  CHECK(saver.busy());
  CHECK(saver.status() == absl::OkStatus());
  file_system.released.RequestStop();
  REQUIRE_OK(saver.Save(AtStep(2)));  // After the first.
  REQUIRE_OK(saver.Flush());
  CHECK_FALSE(saver.busy());
  CHECK(ValueOf(store->LoadLatest())->step == 2);
  CHECK(ValueOf(file_system.ListFolder("run")).size() == 2);
}

TEST_CASE("what was handed over is written before the saver is gone", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = ValueOf(CheckpointStore::Open("run", 9, &file_system));
  REQUIRE_OK(AsyncSaver(store.get()).Save(AtStep(1)));
  CHECK(ValueOf(store->LoadLatest())->step == 1);
}

TEST_CASE("a checkpoint that could not be written is an error of every later call", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = ValueOf(CheckpointStore::Open("run", 9, &file_system));
  AsyncSaver saver(store.get());
  file_system.FailAt(0, absl::ResourceExhaustedError("no space left"), true);
  REQUIRE_OK(saver.Save(AtStep(1)));
  REQUIRE_CODE(saver.Flush(), absl::StatusCode::kResourceExhausted);
  REQUIRE_CODE(saver.status(), absl::StatusCode::kResourceExhausted);
  REQUIRE_CODE(saver.Save(AtStep(2)), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace waggle
