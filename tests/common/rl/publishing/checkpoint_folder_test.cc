#include "common/rl/publishing/checkpoint_folder.h"

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

TEST_CASE("an empty folder begins a new run, and later processes go on with it", "[unit]") {
  const TemporaryFolder folder;
  const CheckpointFolderOptions options = Options(folder.File("out"));
  std::string run;
  {
    const CheckpointFolder opened = ValueOf(OpenCheckpointFolder(options));
    CHECK_FALSE(opened.contents.has_value());
    run = opened.run;
    CHECK(run.substr(0, 2) == "x-");
    REQUIRE_OK(opened.store->Save(Contents(7, run)));
  }
  const CheckpointFolder again = ValueOf(OpenCheckpointFolder(options));
  CHECK(again.contents->step == 7);
  CHECK(again.run == run);
  CHECK(again.source == folder.File("out/checkpoints"));
}

TEST_CASE("another process's folder is read, and written to once that process has ended", "[unit]") {
  const TemporaryFolder folder;
  const CheckpointFolderOptions options = Options(folder.File("out"));
  auto before = std::make_optional(ValueOf(OpenCheckpointFolder(options)));
  REQUIRE_OK(before->store->Save(Contents(7, before->run)));
  const CheckpointFolder after = ValueOf(OpenCheckpointFolder(options));
  CHECK(after.contents->step == 7);
  CHECK(after.run == before->run);
  REQUIRE_CODE(after.store->Save(Contents(8, after.run)), absl::StatusCode::kUnavailable);
  // The other process's checkpoints are as whole as ever.
  REQUIRE_OK(before->store->Save(Contents(9, before->run)));
  before.reset();
  REQUIRE_OK(after.store->Save(Contents(10, after.run)));
  CHECK(ValueOf(after.store->LoadLatest())->step == 10);
}

TEST_CASE("without a folder nothing is written", "[unit]") {
  CHECK(ValueOf(OpenCheckpointFolder(Options(""))).store == nullptr);
}

}  // namespace
}  // namespace waggle::testing
