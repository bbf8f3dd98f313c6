#include "replay_server/service/replay_server.h"

#include <filesystem>
#include <limits>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "common/replay/replay_client.h"
#include "common/replay/table_config_convert.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/replay_conformance.h"
#include "tests/support/limited_replay.h"
#include "tests/support/replay_fixtures.h"
#include "tests/support/temporary_folder.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleSampler;
using testing::SimpleTable;
using testing::SimpleWriter;
using testing::ValueOf;

ReplayServerOptions Listening(const std::string& address) {
  ReplayServerOptions options;
  options.listen = address;
  return options;
}

TEST_CASE("A server counts inserted and sampled items, and measures its tables", "[grpc]") {
  Metrics metrics;
  const auto server = ValueOf(ReplayServer::Start(Listening("127.0.0.1:0"), &metrics));
  const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}));
  const TableConfig table = SimpleTable("t");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 6), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Seconds(30)));
  REQUIRE_OK(ValueOf(connection->NewSampler(SimpleSampler(table, 4)))->Next(StopToken()));
  server->UpdateGauges();
  const Metrics::Snapshot snapshot = metrics.TakeSnapshot();
  CHECK(snapshot.counters.at("items_inserted") == 6);
  CHECK(snapshot.counters.at("items_sampled") >= 4);
  CHECK(snapshot.gauges.at("items") == 6);
  CHECK(snapshot.gauges.at("bytes") > 0);
  CHECK(snapshot.gauges.at("memory_bytes") == snapshot.gauges.at("bytes"));
  CHECK(snapshot.gauges.at("max_items") >= 6);
  CHECK(snapshot.gauges.at("items_removed") == 0);
  for (const char* const name : {"inserts_waiting", "samples_waiting", "disk_bytes", "disk_reads"}) {
    CHECK(snapshot.gauges.count(name) == 1);
  }
  CHECK(snapshot.gauges.at("writers") == 1);
  CHECK(snapshot.gauges.at("writer_bytes") > 0);
}

TEST_CASE("A second server on a taken port is refused", "[grpc]") {
  Metrics metrics;
  const auto server = ValueOf(ReplayServer::Start(Listening("127.0.0.1:0"), &metrics));
  REQUIRE_CODE(ReplayServer::Start(Listening(server->address()), &metrics), absl::StatusCode::kUnavailable);
  REQUIRE_CODE(ReplayServer::Start(Listening("nowhere"), &metrics), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("A server does not start with invalid options, and names them", "[grpc]") {
  Metrics metrics;
  ReplayServerOptions options = Listening("127.0.0.1:0");
  options.service.sample.max_batches_in_flight = 0;
  options.service.max_exports = 0;
  const absl::Status status = ReplayServer::Start(options, &metrics).status();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(status.message(), "sample.max_batches_in_flight: 0 is less than 1; "));
  CHECK(absl::StrContains(status.message(), "max_exports: 0 is less than 1"));
}

TEST_CASE("At most max_exports run at a time; another export may start once one has ended", "[grpc]") {
  Metrics metrics;
  ReplayServerOptions options = Listening("127.0.0.1:0");
  options.service.max_exports = 2;
  const auto server = ValueOf(ReplayServer::Start(options, &metrics));
  const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}));
  constexpr int64_t kWidth = 200'000;  // In all much more than the transport buffers for a client that does not read.
  const TableConfig table = SimpleTable("t", kWidth);
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  for (uint64_t block = 0; block < 10; ++block) {
    REQUIRE_OK(writer->Append(SimpleBlock(10 * block, 10, kWidth), StopToken()));
  }
  REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  const auto stub = v1::ReplayService::NewStub(NewChannel(server->address(), "test"));
  v1::ExportRequest request;
  request.set_table("t");
  v1::ExportResponse response;
  grpc::ClientContext contexts[2];
  std::unique_ptr<grpc::ClientReader<v1::ExportResponse>> readers[2];
  for (int i = 0; i < 2; ++i) {
    readers[i] = stub->Export(&contexts[i], request);
    REQUIRE(readers[i]->Read(&response));
  }
  const auto export_all = [&] {
    grpc::ClientContext context;
    const auto reader = stub->Export(&context, request);
    while (reader->Read(&response)) {
    }
    return FromGrpcStatus(reader->Finish());
  };
  const absl::Status refused = export_all();
  REQUIRE_CODE(refused, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(refused.message(), "2 exports are under way"));
  CHECK(metrics.TakeSnapshot().counters.at("refused_too_busy") == 1);
  while (readers[0]->Read(&response)) {
  }
  REQUIRE(readers[0]->Finish().ok());
  contexts[1].TryCancel();
  REQUIRE_FALSE(readers[1]->Finish().ok());
  absl::Status status = refused;
  while (absl::IsUnavailable(status)) {  // Until the server has noticed the cancellation.
    status = export_all();
  }
  REQUIRE_OK(status);
}

TEST_CASE("Shutting down answers waiting calls at once", "[grpc]") {
  Metrics metrics;
  const auto server = ValueOf(ReplayServer::Start(Listening("127.0.0.1:0"), &metrics));
  const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}));
  const TableConfig table = SimpleTable("t");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 4)));
  server->Shutdown(absl::Seconds(30));
  server->Shutdown(absl::ZeroDuration());
  const StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(sampler->Next(stop), absl::StatusCode::kCancelled);
}

// A server on a folder. Tables are created over RPC.
struct DurableServer {
  explicit DurableServer(const testing::TemporaryFolder& folder, SavedPolicy policy = SavedPolicy::kRefuse,
                         int64_t max_bytes = std::numeric_limits<int64_t>::max()) {
    ReplayServerOptions options = Listening("127.0.0.1:0");
    options.data_dir = folder.File("data");
    options.store.saved = policy;
    options.store.max_bytes = max_bytes;
    server = ValueOf(ReplayServer::Start(options, &metrics));
    stub = v1::ReplayService::NewStub(NewChannel(server->address(), "test"));
  }

  absl::Status Create(const TableConfig& config, v1::SavedPolicy policy = v1::SAVED_POLICY_UNSPECIFIED) {
    v1::CreateTableRequest request;
    *request.mutable_config() = ToProto(config);
    request.set_if_saved_differs(policy);
    auto response = CallUnary(stub.get(), &v1::ReplayService::Stub::CreateTable, request, absl::Seconds(30));
    created = response.value_or(v1::CreateTableResponse());
    return response.status();
  }
  v1::TableInfo FirstTable() {
    return ValueOf(CallUnary(stub.get(), &v1::ReplayService::Stub::Describe, v1::DescribeRequest(), absl::Seconds(30)))
        .tables(0);
  }
  uint64_t Items() { return FirstTable().items(); }

  Metrics metrics;
  std::unique_ptr<ReplayServer> server;
  std::unique_ptr<v1::ReplayService::Stub> stub;
  v1::CreateTableResponse created;
};

TEST_CASE("A restarted server has its table, and obeys the policy for a table that differs", "[grpc]") {
  const testing::TemporaryFolder folder;
  TableConfig table = SimpleTable("t");
  table.durability = GENERATE(Durability::kCheckpoint, Durability::kLog);
  {
    DurableServer first(folder);
    REQUIRE_OK(first.Create(table));
    CHECK(first.created.created());
    const auto connection = ValueOf(NewGrpcReplayConnection({first.server->address()}));
    const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
    REQUIRE_OK(writer->Append(SimpleBlock(0, 6), StopToken()));
    REQUIRE_OK(writer->Flush(absl::Seconds(30)));
    first.server->Shutdown(absl::ZeroDuration());  // Before the writer leaves, as if the server was killed.
  }
  TableConfig wanted = table;
  wanted.max_items = 77;
  SECTION("the same table") {
    DurableServer second(folder);
    REQUIRE_OK(second.Create(table));
    CHECK(!second.created.created());
    CHECK(second.Items() == 6);
  }
  SECTION("refused by default") {
    DurableServer second(folder);
    const absl::Status refused = second.Create(wanted);
    REQUIRE(absl::IsFailedPrecondition(refused));
    CHECK(absl::StrContains(refused.message(), "max_items: 100000 and 77"));
    CHECK(absl::StrContains(refused.message(), "if_saved_differs"));
    CHECK(second.Items() == 6);
    REQUIRE_CODE(second.Create(wanted, static_cast<v1::SavedPolicy>(9)), absl::StatusCode::kInvalidArgument);
  }
  SECTION("kept by the server's choice") {
    DurableServer second(folder, SavedPolicy::kKeep);
    REQUIRE_OK(second.Create(wanted));
    CHECK(!second.created.created());
    CHECK(second.Items() == 6);
    // The policy is for restored tables only, and only once.
    wanted.max_items = 78;
    REQUIRE_CODE(second.Create(wanted, v1::SAVED_POLICY_REPLACE), absl::StatusCode::kFailedPrecondition);
  }
  SECTION("not replaced by a table that is too large for the memory") {
    DurableServer second(folder, SavedPolicy::kReplace, /*max_bytes=*/10'000'000);
    wanted.max_items = 1'000'000;
    const absl::Status refused = second.Create(wanted);
    REQUIRE_CODE(refused, absl::StatusCode::kResourceExhausted);
    CHECK(absl::StrContains(refused.message(),
                            "max_items, 1000000, and max_bytes, 1073741824, let it take at least 44000000"));
    CHECK(second.Items() == 6);
    CHECK(second.metrics.TakeSnapshot().counters.at("refused_table_too_large") == 1);
  }
  SECTION("replaced by the request's choice") {
    {
      DurableServer second(folder);
      REQUIRE_OK(second.Create(wanted, v1::SAVED_POLICY_REPLACE));
      CHECK(second.created.created());
      CHECK(second.Items() == 0);
    }
    DurableServer third(folder);
    REQUIRE_OK(third.Create(wanted));
    CHECK(!third.created.created());
    CHECK(third.Items() == 0);
  }
}

TEST_CASE("Dropped tables of an experiment do not come back after a restart", "[grpc]") {
  const testing::TemporaryFolder folder;
  std::vector<TableConfig> tables;
  for (const char* const name : {"first-1/t", "first-1/u", "second-2/t"}) {
    tables.push_back(SimpleTable(name));
    tables.back().durability = GENERATE(Durability::kCheckpoint, Durability::kLog);
  }
  const auto write = [&tables](DurableServer* server, const std::string& writer_id) {
    const auto connection = ValueOf(NewGrpcReplayConnection({server->server->address()}));
    for (const TableConfig& table : tables) {
      REQUIRE_OK(server->Create(table));
      const auto writer = ValueOf(connection->NewWriter(SimpleWriter(writer_id + table.name, table)));
      REQUIRE_OK(writer->Append(SimpleBlock(0, 6), StopToken()));
      REQUIRE_OK(writer->Flush(absl::Seconds(30)));
    }
  };
  {
    DurableServer first(folder);
    write(&first, "a");
    if (GENERATE(false, true)) {  // Also restored tables that no client has created again.
      first.server->Shutdown(absl::ZeroDuration());
    } else {
      CHECK(first.server->store()->DropExperiment("first-1") == 2);
      CHECK(first.Items() == 6);
    }
  }
  {
    DurableServer second(folder);
    second.server->store()->DropExperiment("first-1");
    CHECK(second.server->store()->Experiments() == std::vector<std::string>{"second-2"});
  }
  DurableServer third(folder);
  CHECK(third.server->store()->Experiments() == std::vector<std::string>{"second-2"});
  CHECK(third.Items() == 6);
  write(&third, "b");
  CHECK(third.Items() == 6);
  CHECK(ValueOf(third.server->store()->FindTable("second-2/t"))->info().items == 12);
}

TEST_CASE("A checkpoint is made on request, and refused without a folder", "[grpc]") {
  const testing::TemporaryFolder folder;
  DurableServer server(folder);
  TableConfig table = SimpleTable("t");
  table.durability = Durability::kCheckpoint;
  REQUIRE_OK(server.Create(table));
  const auto checkpoint = [](v1::ReplayService::Stub* stub) {
    return CallUnary(stub, &v1::ReplayService::Stub::Checkpoint, v1::CheckpointRequest(), absl::Seconds(30));
  };
  for (uint64_t number = 1; number <= 5; ++number) {
    CHECK(ValueOf(checkpoint(server.stub.get())).number() == number);
  }
  CHECK(!std::filesystem::exists(folder.File("data/checkpoints/2")));
  CHECK(std::filesystem::exists(folder.File("data/checkpoints/3")));
  Metrics metrics;
  const auto without = ValueOf(ReplayServer::Start(Listening("127.0.0.1:0"), &metrics));
  const auto stub = v1::ReplayService::NewStub(NewChannel(without->address(), "test"));
  REQUIRE_CODE(checkpoint(stub.get()), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("A server without a folder refuses tables that need one", "[grpc]") {
  Metrics metrics;
  const auto server = ValueOf(ReplayServer::Start(Listening("127.0.0.1:0"), &metrics));
  const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}));
  TableConfig table = SimpleTable("t");
  table.durability = Durability::kLog;
  const absl::Status refused = connection->CreateTable(table, StopToken());
  REQUIRE(absl::IsFailedPrecondition(refused));
  CHECK(absl::StrContains(refused.message(), "--data-dir"));
  table.durability = Durability::kNone;
  table.memory_limit = 1 << 20;
  const absl::Status limited = connection->CreateTable(table, StopToken());
  REQUIRE(absl::IsFailedPrecondition(limited));
  CHECK(absl::StrContains(limited.message(), "memory_limit"));
  CHECK(absl::StrContains(limited.message(), "--data-dir"));
}

// A server with a folder. Its tables have far more rows than their memory limit.
struct LimitedServer {
  LimitedServer() {
    ReplayServerOptions options = Listening("127.0.0.1:0");
    options.data_dir = folder.File("data");
    server = ValueOf(ReplayServer::Start(options, &metrics));
  }

  const testing::TemporaryFolder folder;
  Metrics metrics;
  std::unique_ptr<ReplayServer> server;
};

std::shared_ptr<ReplayConnection> NewLimitedReplay() {
  const auto server = std::make_shared<LimitedServer>();
  return std::make_shared<testing::LimitedReplayConnection>(
      ValueOf(NewGrpcReplayConnection({server->server->address()})), /*limit=*/200, server);
}

TEST_CASE("Replay keeps its contract over gRPC with nearly all rows on disk", "[grpc]") {
  testing::CheckReplayConformance(NewLimitedReplay);
}

TEST_CASE("Views, selectors and compression work over gRPC with nearly all rows on disk", "[grpc]") {
  testing::CheckReplayViewConformance(NewLimitedReplay);
}

TEST_CASE("A table of ten times its memory limit is sampled whole, and reports its bytes on disk", "[grpc]") {
  const testing::TemporaryFolder folder;
  DurableServer server(folder);
  TableConfig table = SimpleTable("t", /*width=*/1000);
  table.durability = GENERATE(Durability::kNone, Durability::kLog);
  table.memory_limit = 40'000;
  table.sampler.kind = SelectorKind::kFifo;
  table.max_times_sampled = 1;
  REQUIRE_OK(server.Create(table));
  const auto connection = ValueOf(NewGrpcReplayConnection({server.server->address()}));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  for (uint64_t row = 0; row < 100; ++row) {
    REQUIRE_OK(writer->Append(SimpleBlock(row, 1, 1000), StopToken()));
  }
  REQUIRE_OK(writer->Flush(absl::Seconds(60)));
  const v1::TableInfo before = server.FirstTable();
  CHECK(before.bytes() >= 400'000);
  CHECK(before.memory_bytes() <= 45'000);
  CHECK(before.disk_bytes() >= 355'000);
  CHECK(before.disk_reads() == 0);
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 50)));
  for (int batch = 0; batch < 2; ++batch) {
    const SampledBatch sampled = ValueOf(sampler->Next(StopToken()));
    const std::vector<float> rewards = testing::Rewards(sampled, 50);
    for (int i = 0; i < 50; ++i) {
      REQUIRE(rewards[static_cast<size_t>(i)] == static_cast<float>(batch * 50 + i));
    }
  }
  CHECK(server.FirstTable().disk_reads() >= 85);
}

TEST_CASE("Servers that fail to start do not replace kept checkpoints", "[grpc]") {
  const testing::TemporaryFolder folder;
  TableConfig table = SimpleTable("t");
  table.durability = Durability::kLog;
  {
    DurableServer server(folder);
    REQUIRE_OK(server.Create(table));
  }
  const auto kept = [&folder] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.File("data/checkpoints"))) {
      names.insert(entry.path().filename().string());
    }
    return names;
  };
  const std::set<std::string> before = kept();
  REQUIRE(before.size() == 1);
  Metrics metrics;
  const auto other = ValueOf(ReplayServer::Start(Listening("127.0.0.1:0"), &metrics));
  ReplayServerOptions options = Listening(other->address());
  options.data_dir = folder.File("data");
  for (int i = 0; i < 3; ++i) {
    REQUIRE(!ReplayServer::Start(options, &metrics).ok());
  }
  CHECK(kept() == before);
}

TEST_CASE("A second server on a folder is refused", "[grpc]") {
  const testing::TemporaryFolder folder;
  DurableServer first(folder);
  Metrics metrics;
  ReplayServerOptions options = Listening("127.0.0.1:0");
  options.data_dir = folder.File("data");
  const absl::Status refused = ReplayServer::Start(options, &metrics).status();
  REQUIRE(absl::IsUnavailable(refused));
  CHECK(absl::StrContains(refused.message(), folder.File("data")));
}

}  // namespace
}  // namespace waggle
