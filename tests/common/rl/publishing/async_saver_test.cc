#include "common/rl/publishing/async_saver.h"

#include <optional>

#include "common/base/failpoint.h"
#include "tests/support/catch.h"
#include "tests/support/full_disk.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::FullDisk;
using testing::TemporaryFolder;
using testing::ValueOf;

CheckpointContents AtStep(int64_t step) {
  CheckpointContents contents;
  contents.step = step;
  return contents;
}

struct Fixture {
  const TemporaryFolder folder;
  const std::unique_ptr<CheckpointStore> store = ValueOf(CheckpointStore::Open(folder.path(), 9));
  Metrics metrics;
  AsyncSaver saver{store.get(), &metrics};
};

TEST_CASE("the last of several can be waited for", "[unit]") {
  Fixture fixture;
  AsyncSaver& saver = fixture.saver;
  CHECK_FALSE(saver.busy());
  CHECK(saver.written_step() == -1);
  saver.Save(AtStep(1));
  saver.Save(AtStep(2));  // After the first.
  REQUIRE_OK(saver.Flush());
  CHECK_FALSE(saver.busy());
  CHECK(saver.written_step() == 2);
  CHECK(ValueOf(fixture.store->LoadLatest())->step == 2);
  REQUIRE_OK(fixture.store->LoadStep(1));
}

#ifdef WAGGLE_FAILPOINTS_ENABLED
TEST_CASE("saving does not wait for the disk", "[unit]") {
  Fixture fixture;
  AsyncSaver& saver = fixture.saver;
  REQUIRE_OK(SetFailpoints("file.sync=hold"));
  saver.Save(AtStep(1));
  CHECK(saver.busy());
  CHECK_FALSE(saver.TakeResult().has_value());
  REQUIRE_OK(SetFailpoints(""));
  REQUIRE_OK(saver.Flush());
  CHECK(saver.written_step() == 1);
}
#endif

TEST_CASE("a checkpoint that was handed over is written before the saver is destroyed", "[unit]") {
  const TemporaryFolder folder;
  const auto store = ValueOf(CheckpointStore::Open(folder.path(), 9));
  Metrics metrics;
  AsyncSaver(store.get(), &metrics).Save(AtStep(1));
  CHECK(ValueOf(store->LoadLatest())->step == 1);
}

TEST_CASE("a failed checkpoint is reported once, and the next one is tried all the same", "[unit]") {
  Fixture fixture;
  AsyncSaver& saver = fixture.saver;
  std::optional<FullDisk> full(std::in_place, 0);
  for (const int64_t step : {1, 2}) {
    saver.Save(AtStep(step));
    REQUIRE_CODE(saver.Flush(), absl::StatusCode::kResourceExhausted);
    CHECK(absl::IsResourceExhausted(saver.TakeResult().value()));
    CHECK_FALSE(saver.TakeResult().has_value());
  }
  CHECK(saver.written_step() == -1);
  CHECK(fixture.metrics.TakeSnapshot().counters.at("checkpoints_failed") == 2);
  CHECK(fixture.metrics.TakeSnapshot().gauges.at("checkpoint_failing") == 1);
  full.reset();
  saver.Save(AtStep(3));
  REQUIRE_OK(saver.Flush());
  CHECK(saver.TakeResult() == absl::OkStatus());
  CHECK(saver.written_step() == 3);
  CHECK(fixture.metrics.TakeSnapshot().counters.at("checkpoints_failed") == 2);
  CHECK(fixture.metrics.TakeSnapshot().gauges.at("checkpoint_failing") == 0);
}

}  // namespace
}  // namespace waggle
