#include "common/replay/replay_tables.h"

#include "absl/strings/match.h"
#include "common/base/reason.h"
#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::ServerFixture;
using testing::SimpleBlock;
using testing::SimpleSampler;
using testing::SimpleTable;
using testing::SimpleWriter;
using testing::ValueOf;

TEST_CASE("Tables are created, described, changed and cleared", "[grpc]") {
  const ServerFixture server;
  ReplayTables tables(server.address());
  CHECK(ValueOf(tables.List()).empty());
  TableConfig config = SimpleTable("t");
  config.sampler.kind = SelectorKind::kPrioritized;
  config.sampler.priority_exponent = 1;
  CHECK(ValueOf(tables.Create(config)));
  CHECK(!ValueOf(tables.Create(config)));
  const auto connection = server.Connect();
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", config)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 10), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Seconds(30)));

  TableStatus status = ValueOf(tables.Get("t"));
  CHECK(Differences(status.config, config).empty());
  CHECK(status.items == 10);
  CHECK(status.items_inserted == 10);
  CHECK(status.priority_sum == 10);
  CHECK(status.bytes > 0);
  CHECK(status.blocked_because.empty());

  const SampledBatch batch = ValueOf(ValueOf(connection->NewSampler(SimpleSampler(config, 1)))->Next(StopToken()));
  const std::vector<uint64_t> key = {*static_cast<const uint64_t*>(batch.Data(kItemKey))};
  const std::vector<uint64_t> generation = {*static_cast<const uint64_t*>(batch.Data(kItemGeneration))};
  CHECK(ValueOf(tables.UpdatePriorities("t", key, generation, {5})).applied == 1);
  CHECK(ValueOf(tables.Get("t")).priority_sum == 14);
  CHECK(ValueOf(tables.UpdatePriorities("t", key, {generation[0] + 1}, {5})).stale == 1);
  CHECK(ValueOf(tables.Delete("t", key, generation)).applied == 1);
  CHECK(ValueOf(tables.Delete("t", key, generation)).unknown == 1);

  config.max_items = 4;
  CHECK(ValueOf(tables.Reconfigure(config, status.config_generation, /*dry_run=*/true)).items_removed == 5);
  const TableChange change = ValueOf(tables.Reconfigure(config, status.config_generation));
  CHECK(change.items_removed == 5);
  CHECK(change.differences == std::vector<std::string>{"max_items: 100000 and 4"});
  CHECK(change.config_generation == status.config_generation + 1);
  CHECK(ValueOf(tables.Clear("t")) == 4);
  CHECK(ValueOf(tables.Get("t")).items == 0);
}

TEST_CASE("An error has the server's message and address", "[grpc]") {
  const ServerFixture server;
  ReplayTables tables(server.address());
  TableConfig config = SimpleTable("table");
  REQUIRE_OK(tables.Create(config).status());
  const absl::Status unknown = tables.Get("tabel").status();
  REQUIRE_CODE(unknown, absl::StatusCode::kNotFound);
  CHECK(absl::StrContains(unknown.message(), "did you mean \"table\""));
  CHECK(absl::StrContains(unknown.message(), server.address()));
  REQUIRE_CODE(tables.Clear("none").status(), absl::StatusCode::kNotFound);
  CHECK(ReasonOf(tables.Clear("none").status()) == "unknown_table");
  REQUIRE_CODE(tables.UpdatePriorities("table", {1, 2}, {1}, {1}).status(), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(tables.Reconfigure(config, 99).status(), absl::StatusCode::kAborted);
  config.max_window = 2;
  REQUIRE_CODE(tables.Create(config).status(), absl::StatusCode::kFailedPrecondition);
  config.max_window = 0;
  REQUIRE_CODE(tables.Create(config).status(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("An absent server is an error within the timeout", "[grpc]") {
  ReplayTables tables("127.0.0.1:1", absl::Milliseconds(300));
  const absl::StatusCode code = tables.List().status().code();
  CHECK((code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kDeadlineExceeded));
}

}  // namespace
}  // namespace waggle
