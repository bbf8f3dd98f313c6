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

absl::Status Import(const ImportFlags& flags) {
  std::ostringstream out;
  return ImportFromFile(flags, StopToken(), &out).status();
}

TEST_CASE("wrong exports and imports are refused", "[grpc]") {
  const testing::TemporaryFolder folder;
  ExportFlags out;
  out.target.replay_servers = {"127.0.0.1:1", "127.0.0.1:2"};
  out.table = "t";
  out.file = folder.File("a");
  REQUIRE_CODE(ExportToFile(out, StopToken()), absl::StatusCode::kInvalidArgument);
  out.target.replay_servers.pop_back();
  REQUIRE_CODE(ExportToFile(out, StopToken()), absl::StatusCode::kUnavailable);
  ImportFlags in;
  in.target = out.target;
  in.file = folder.File("none");
  REQUIRE_CODE(Import(in), absl::StatusCode::kNotFound);
  in.file = WriteFile(folder, 2000);
  REQUIRE_CODE(Import(in), absl::StatusCode::kUnavailable);
  // One of the run's servers is missing.
  testing::FakeServices hub;
  testing::AddWorker(v1::ROLE_REPLAY_SERVER, 1, &hub.workers.overview)->set_address(hub.address());
  in.target = {};
  in.target.param_server = hub.address();
  const absl::Status incomplete = Import(in);
  REQUIRE_CODE(incomplete, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(incomplete.message(), "none with index 0 is alive"));
}

TEST_CASE("an import into a table that takes nothing ends with the reason", "[grpc]") {
  const testing::TemporaryFolder folder;
  const testing::ServerFixture server;
  ImportFlags flags;
  flags.target.replay_servers = {server.address()};
  flags.idle_seconds = 1;
  flags.file = WriteFile(folder, 700);
  const absl::Status stuck = Import(flags);
  REQUIRE_CODE(stuck, absl::StatusCode::kDeadlineExceeded);
  CAPTURE(stuck.message());
  CHECK(absl::StrContains(stuck.message(), absl::StrCat("table \"t\" at ", server.address(), ": inserts wait for ")));
}

TEST_CASE("an export of an experiment's table has a plain name, and another experiment can import it", "[grpc]") {
  const testing::TemporaryFolder folder;
  const testing::ServerFixture server;
  ImportFlags in;
  in.target.replay_servers = {server.address()};
  in.target.experiment_id = "pole-x7k2q";
  in.file = WriteFile(folder, 2000);
  REQUIRE_OK(Import(in));
  ExportFlags back;
  back.target = in.target;
  back.table = "t";
  back.file = folder.File("back.waggle");
  REQUIRE_OK(ExportToFile(back, StopToken()));
  CHECK(testing::ValueOf(ReplayFileReader::Open(back.file))->config().name == "t");
  back.target.experiment_id = "cart-99abc";
  back.file = folder.File("other.waggle");
  REQUIRE_CODE(ExportToFile(back, StopToken()), absl::StatusCode::kNotFound);
}

TEST_CASE("exit statuses distinguish a wrong request from a server that is away", "[unit]") {
  CHECK(ImportExitStatus(absl::DataLossError("damaged")) == 2);
  CHECK(ImportExitStatus(absl::FailedPreconditionError("differs")) == 2);
  CHECK(ImportExitStatus(absl::UnavailableError("away")) == 1);
  CHECK(ExportExitStatus(absl::DataLossError("the server's disk")) == 1);
  CHECK(ExportExitStatus(absl::AlreadyExistsError("file")) == 2);
  CHECK(ExportExitStatus(absl::CancelledError("interrupted")) == 130);
}

}  // namespace
}  // namespace waggle
