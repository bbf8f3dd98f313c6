#include "cli/replay/replay_files.h"

#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/replay/file/replay_file.h"
#include "tests/cli/fake_services.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

TEST_CASE("an export reads one server", "[unit]") {
  ExportFlags flags;
  flags.target.replay_servers = {"127.0.0.1:1", "127.0.0.1:2"};
  flags.table = "t";
  const absl::Status refused = ExportToFile(flags, StopToken()).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(refused.message(), "name one with --replay-server"));
}

TEST_CASE("a server that is away is an error, and no file is left", "[unit]") {
  const testing::TemporaryFolder folder;
  ExportFlags flags;
  flags.target.replay_servers = {"127.0.0.1:1"};
  flags.table = "t";
  flags.file = folder.File("a");
  REQUIRE_CODE(ExportToFile(flags, StopToken()).status(), absl::StatusCode::kUnavailable);
}

TEST_CASE("a missing file is an error before any server is asked", "[unit]") {
  const testing::TemporaryFolder folder;
  ImportFlags flags;
  flags.target.replay_servers = {"127.0.0.1:1"};
  flags.file = folder.File("none");
  std::ostringstream out;
  REQUIRE_CODE(ImportFromFile(flags, StopToken(), &out).status(), absl::StatusCode::kNotFound);
}

// A file with a table "t" of 1000 items, whose rate limiter allows `inserts` inserts before the first sample.
std::string WriteFile(const testing::TemporaryFolder& folder, double inserts) {
  TableConfig table = testing::SimpleTable("t");
  table.rate_limiter.samples_per_insert = 1;
  table.rate_limiter.min_items = 1;
  table.rate_limiter.min_difference = -1000;
  table.rate_limiter.max_difference = inserts;
  const auto file = testing::ValueOf(ReplayFileWriter::Create(folder.File("t.waggle"), table, 1000));
  REQUIRE_OK(file->Append(testing::SimpleBlock(0, 500)));
  REQUIRE_OK(file->Append(testing::SimpleBlock(500, 500)));
  REQUIRE_OK(file->Finish());
  return folder.File("t.waggle");
}

TEST_CASE("an import does not wait for a server that is away", "[grpc]") {
  const testing::TemporaryFolder folder;
  ImportFlags flags;
  flags.target.replay_servers = {"127.0.0.1:1"};
  flags.file = WriteFile(folder, 2000);
  std::ostringstream out;
  const absl::Status away = ImportFromFile(flags, StopToken(), &out).status();
  REQUIRE_CODE(away, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(away.message(), "the replay server at 127.0.0.1:1 does not answer"));
}

TEST_CASE("an import into a table that takes nothing ends with the reason", "[grpc]") {
  const testing::TemporaryFolder folder;
  const testing::ServerFixture server;
  ImportFlags flags;
  flags.target.replay_servers = {server.address()};
  flags.idle_seconds = 1;
  std::ostringstream out;
  flags.file = WriteFile(folder, 700);
  const absl::Status stuck = ImportFromFile(flags, StopToken(), &out).status();
  REQUIRE_CODE(stuck, absl::StatusCode::kDeadlineExceeded);
  CAPTURE(stuck.message());
  CHECK(absl::StrContains(stuck.message(), "nothing was acknowledged for "));
  CHECK(absl::StrContains(stuck.message(), absl::StrCat("table \"t\" at ", server.address(), ": inserts wait for ")));
}

TEST_CASE("an export of an experiment's table has a plain name, and another experiment can import it", "[grpc]") {
  const testing::TemporaryFolder folder;
  const testing::ServerFixture server;
  ImportFlags in;
  in.target.replay_servers = {server.address()};
  in.target.experiment_id = "pole-x7k2q";
  in.file = WriteFile(folder, 2000);
  std::ostringstream out;
  REQUIRE_OK(ImportFromFile(in, StopToken(), &out));
  ExportFlags back;
  back.target = in.target;
  back.table = "t";
  back.file = folder.File("back.waggle");
  REQUIRE_OK(ExportToFile(back, StopToken()));
  CHECK(testing::ValueOf(ReplayFileReader::Open(back.file))->config().name == "t");
  back.target.experiment_id = "cart-99abc";
  back.file = folder.File("other.waggle");
  const absl::Status unknown = ExportToFile(back, StopToken()).status();
  REQUIRE_CODE(unknown, absl::StatusCode::kNotFound);
}

TEST_CASE("an import into a run is refused if one of its servers is missing", "[grpc]") {
  const testing::TemporaryFolder folder;
  testing::FakeServices hub;
  testing::AddWorker(v1::ROLE_REPLAY_SERVER, 1, &hub.overview())->set_address(hub.address());
  ImportFlags flags;
  flags.target.param_server = hub.address();
  flags.file = WriteFile(folder, 2000);
  std::ostringstream out;
  const absl::Status incomplete = ImportFromFile(flags, StopToken(), &out).status();
  REQUIRE_CODE(incomplete, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(incomplete.message(), "none with index 0 is alive"));
}

TEST_CASE("exit statuses distinguish a wrong request from a server that is away", "[unit]") {
  CHECK(ImportExitStatus(absl::DataLossError("damaged")) == 2);
  CHECK(ExportExitStatus(absl::DataLossError("the server's disk")) == 1);
  CHECK(ImportExitStatus(absl::FailedPreconditionError("differs")) == 2);
  CHECK(ExportExitStatus(absl::AlreadyExistsError("file")) == 2);
  CHECK(ExportExitStatus(absl::NotFoundError("table")) == 2);
  CHECK(ImportExitStatus(absl::UnavailableError("away")) == 1);
  CHECK(ImportExitStatus(absl::DeadlineExceededError("idle")) == 1);
  CHECK(ExportExitStatus(absl::CancelledError("interrupted")) == 130);
}

}  // namespace
}  // namespace waggle
