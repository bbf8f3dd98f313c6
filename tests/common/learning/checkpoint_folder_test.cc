#include "common/learning/checkpoint_folder.h"

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

CheckpointContents Contents(int64_t step, const std::string& run) {
  CheckpointContents contents;
  contents.step = step;
  contents.texts[kCheckpointRun] = run;
  return contents;
}

CheckpointFolderOptions Options(const std::string& output) {
  CheckpointFolderOptions options;
  options.output_dir = output;
  options.experiment = "x";
  return options;
}

TEST_CASE("an empty folder begins a run of its own, and is gone on with where that is asked for", "[unit]") {
  const TemporaryFolder folder;
  CheckpointFolderOptions options = Options(folder.File("out"));
  std::string run;
  {
    const CheckpointFolder opened = ValueOf(OpenCheckpointFolder(options));
    CHECK_FALSE(opened.contents.has_value());
    run = opened.run;
    CHECK(run.substr(0, 2) == "x-");
    REQUIRE_OK(opened.store->Save(Contents(7, run)));
  }
  REQUIRE_CODE(OpenCheckpointFolder(options), absl::StatusCode::kFailedPrecondition);
  options.resume = true;
  {
    const CheckpointFolder again = ValueOf(OpenCheckpointFolder(options));
    CHECK(again.contents->step == 7);
    CHECK(again.run == run);
    CHECK(again.source == folder.File("out/checkpoints"));
  }
  // Another folder goes on from it, and writes its own.
  CheckpointFolderOptions other = Options(folder.File("other"));
  other.restore_dir = folder.File("out/checkpoints");
  const CheckpointFolder copy = ValueOf(OpenCheckpointFolder(other));
  CHECK(copy.run == run);
  CHECK(copy.contents->step == 7);
  CHECK_FALSE(ValueOf(copy.store->NewestStep()).has_value());
}

TEST_CASE("a folder that another process has yet is read, and written to once that has ended", "[unit]") {
  const TemporaryFolder folder;
  CheckpointFolderOptions options = Options(folder.File("out"));
  options.resume = true;
  auto before = std::make_optional(ValueOf(OpenCheckpointFolder(options)));
  REQUIRE_OK(before->store->Save(Contents(7, before->run)));
  const CheckpointFolder after = ValueOf(OpenCheckpointFolder(options));
  CHECK(after.contents->step == 7);
  CHECK(after.run == before->run);
  REQUIRE_CODE(after.store->Save(Contents(8, after.run)), absl::StatusCode::kUnavailable);
  // What the other one still writes is as whole as ever.
  REQUIRE_OK(before->store->Save(Contents(9, before->run)));
  before.reset();
  REQUIRE_OK(after.store->Save(Contents(10, after.run)));
  CHECK(ValueOf(after.store->LoadLatest())->step == 10);
}

TEST_CASE("a folder to restore from that has nothing is an error, and without one nothing is written", "[unit]") {
  const TemporaryFolder folder;
  CheckpointFolderOptions options = Options("");
  CHECK(ValueOf(OpenCheckpointFolder(options)).store == nullptr);
  options.restore_dir = folder.path();
  REQUIRE_CODE(OpenCheckpointFolder(options), absl::StatusCode::kNotFound);
  options.restore_dir = folder.File("missing");
  REQUIRE_CODE(OpenCheckpointFolder(options), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace waggle::testing
