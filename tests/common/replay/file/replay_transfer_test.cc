#include "common/replay/file/replay_transfer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::ServerFixture;
using testing::SimpleBlock;
using testing::SimpleSampler;
using testing::SimpleTable;
using testing::SimpleWriter;
using testing::ValueOf;

TableConfig Table() {
  TableConfig table = SimpleTable("t");
  table.sampler.kind = SelectorKind::kFifo;
  table.sampler.without_replacement = true;
  return table;
}

void Fill(const ServerFixture& server, uint32_t blocks) {
  const auto connection = server.Connect();
  REQUIRE_OK(connection->CreateTable(Table(), StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", Table())));
  for (uint32_t i = 0; i < blocks; ++i) {
    REQUIRE_OK(writer->Append(SimpleBlock(i * 500, 500), StopToken()));
  }
  REQUIRE_OK(writer->Flush(absl::Seconds(30)));
}

TEST_CASE("A table goes to a file and comes back, at another server and under another name", "[grpc]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/t.waggle";
  const ServerFixture from;
  Fill(from, 40);
  uint64_t reported = 0;
  const TransferProgress exported =
      ValueOf(ExportTable(from.address(), "t", path, StopToken(),
                          [&reported](const TransferProgress& progress) { reported = progress.items; }));
  CHECK(exported.items == 20'000);
  CHECK(exported.of_items == 20'000);
  CHECK(reported == 20'000);

  const ServerFixture to;
  const auto connection = to.Connect();
  const TransferProgress imported = ValueOf(ImportTable(path, "copy", connection.get(), StopToken()));
  CHECK(imported.items == 20'000);
  TableConfig copy = Table();
  copy.name = "copy";
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(copy, 20'000)));
  const std::vector<float> rewards = testing::Rewards(ValueOf(sampler->Next(StopToken())), 20'000);
  for (size_t i = 0; i < rewards.size(); ++i) {
    REQUIRE(rewards[i] == static_cast<float>(i));
  }
}

TEST_CASE("A failed export or import leaves nothing behind and names the reason", "[grpc]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/t.waggle";
  const ServerFixture server;
  REQUIRE_CODE(ExportTable(server.address(), "t", path, StopToken()).status(), absl::StatusCode::kNotFound);
  CHECK(!std::ifstream(path).good());
  Fill(server, 1);
  REQUIRE_OK(ExportTable(server.address(), "t", path, StopToken()).status());
  REQUIRE_CODE(ExportTable(server.address(), "t", path, StopToken()).status(), absl::StatusCode::kAlreadyExists);
  const auto connection = server.Connect();
  REQUIRE_CODE(ImportTable(path + "x", "", connection.get(), StopToken()).status(), absl::StatusCode::kNotFound);
  TableConfig other = Table();
  other.name = "other";
  other.max_window = 9;
  REQUIRE_OK(connection->CreateTable(other, StopToken()));
  REQUIRE_CODE(ImportTable(path, "other", connection.get(), StopToken()).status(),
               absl::StatusCode::kFailedPrecondition);
  const StopToken stop;
  stop.RequestStop();
  REQUIRE(!ExportTable(server.address(), "t", path + "2", stop).ok());
  CHECK(!std::ifstream(path + "2").good());
}

TEST_CASE("An import of a damaged file names the damage, and the number of inserted items", "[grpc]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/t.waggle";
  {
    const auto file = ValueOf(ReplayFileWriter::Create(path, Table(), 1000));
    for (const uint64_t first : {0, 500}) {
      REQUIRE_OK(file->Append(SimpleBlock(first, 500)));
    }
    REQUIRE_OK(file->Finish());
  }
  const auto size = std::filesystem::file_size(path);
  int64_t items = 1000;
  SECTION("a byte behind its end") {
    std::ofstream(path, std::ios::binary | std::ios::app) << 'x';
  }
  SECTION("its last byte cut off") {
    std::filesystem::resize_file(path, size - 1);
  }
  SECTION("its second block cut off") {
    std::filesystem::resize_file(path, size - 100);
    items = 500;
  }
  const ServerFixture server;
  const auto connection = server.Connect();
  const absl::Status status = ImportTable(path, "", connection.get(), StopToken()).status();
  REQUIRE_CODE(status, absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(status.message(), absl::StrCat(items, " of about 1000 items were inserted")));
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(Table(), items)));
  REQUIRE_OK(sampler->Next(StopToken()).status());
}

TEST_CASE("A file goes back into its own table behind the present items", "[grpc]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/t.waggle";
  const ServerFixture server;
  Fill(server, 2);
  REQUIRE_OK(ExportTable(server.address(), "t", path, StopToken()).status());
  const auto connection = server.Connect();
  CHECK(ValueOf(ImportTable(path, "", connection.get(), StopToken())).items == 1000);
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(Table(), 2000)));
  const std::vector<float> rewards = testing::Rewards(ValueOf(sampler->Next(StopToken())), 2000);
  CHECK(rewards[1000] == 0);
  CHECK(rewards[1999] == 999);
}

TEST_CASE("An import does not wait for ever for a server that is away, and ends at a stop", "[grpc]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/t.waggle";
  const auto file = ValueOf(ReplayFileWriter::Create(path, Table(), 0));
  REQUIRE_OK(file->Finish());
  const auto connection = ValueOf(NewGrpcReplayConnection({"127.0.0.1:1"}));
  ImportOptions options;
  options.idle_timeout = absl::Milliseconds(100);
  REQUIRE_CODE(ImportTable(path, "", connection.get(), StopToken(), options).status(),
               absl::StatusCode::kDeadlineExceeded);
  const StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(ImportTable(path, "", connection.get(), stop).status(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
