#include "cli/replay_files.h"

#include <string>

#include "absl/strings/match.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

TEST_CASE("an export is of one server", "[unit]") {
  ExportFlags flags;
  flags.target.replay_servers = {"127.0.0.1:1", "127.0.0.1:2"};
  flags.table = "t";
  const absl::Status refused = ExportToFile(flags, StopToken()).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(refused.message(), "name one with --replay-server"));
}

TEST_CASE("a server that is not there is an error, and no file is left", "[unit]") {
  const testing::TemporaryFolder folder;
  ExportFlags flags;
  flags.target.replay_servers = {"127.0.0.1:1"};
  flags.table = "t";
  flags.file = folder.File("a");
  REQUIRE_CODE(ExportToFile(flags, StopToken()).status(), absl::StatusCode::kUnavailable);
}

TEST_CASE("a file that is not there is an error before any server is asked", "[unit]") {
  const testing::TemporaryFolder folder;
  ImportFlags flags;
  flags.target.replay_servers = {"127.0.0.1:1"};
  flags.file = folder.File("none");
  REQUIRE_CODE(ImportFromFile(flags, StopToken()).status(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace waggle
