#include "common/learning/async_saver.h"

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
  Metrics metrics;
  AsyncSaver saver(store.get(), &metrics);
  CHECK_FALSE(saver.busy());
  CHECK(saver.written_step() == -1);
  saver.Save(AtStep(1));
  file_system.arrived.Wait();
  CHECK(saver.busy());
  CHECK_FALSE(saver.TakeResult().has_value());
  file_system.released.RequestStop();
  saver.Save(AtStep(2));  // After the first.
  REQUIRE_OK(saver.Flush());
  CHECK_FALSE(saver.busy());
  CHECK(saver.written_step() == 2);
  CHECK(ValueOf(store->LoadLatest())->step == 2);
  CHECK(ValueOf(file_system.ListFolder("run")).size() == 2);
}

TEST_CASE("a checkpoint that was handed over is written before the saver is destroyed", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = ValueOf(CheckpointStore::Open("run", 9, &file_system));
  Metrics metrics;
  AsyncSaver(store.get(), &metrics).Save(AtStep(1));
  CHECK(ValueOf(store->LoadLatest())->step == 1);
}

TEST_CASE("a failed checkpoint is reported once, and the next one is tried all the same", "[unit]") {
  SimulatedFileSystem file_system;
  const auto store = ValueOf(CheckpointStore::Open("run", 9, &file_system));
  Metrics metrics;
  AsyncSaver saver(store.get(), &metrics);
  file_system.FailAt(0, absl::ResourceExhaustedError("no space left"), true);
  for (const int64_t step : {1, 2}) {
    saver.Save(AtStep(step));
    REQUIRE_CODE(saver.Flush(), absl::StatusCode::kResourceExhausted);
    CHECK(absl::IsResourceExhausted(saver.TakeResult().value()));
    CHECK_FALSE(saver.TakeResult().has_value());
  }
  CHECK(saver.written_step() == -1);
  CHECK(metrics.TakeSnapshot().counters.at("checkpoints_failed") == 2);
  CHECK(metrics.TakeSnapshot().gauges.at("checkpoint_failing") == 1);
  file_system.FailNothing();
  saver.Save(AtStep(3));
  REQUIRE_OK(saver.Flush());
  CHECK(saver.TakeResult() == absl::OkStatus());
  CHECK(saver.written_step() == 3);
  CHECK(metrics.TakeSnapshot().counters.at("checkpoints_failed") == 2);
  CHECK(metrics.TakeSnapshot().gauges.at("checkpoint_failing") == 0);
}

}  // namespace
}  // namespace waggle
