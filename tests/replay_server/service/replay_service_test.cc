#include "replay_server/service/replay_service.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "common/base/steady_now.h"
#include "common/net/channel.h"
#include "common/net/server.h"
#include "common/net/unary_call.h"
#include "common/replay/replay_client.h"
#include "common/replay/replay_convert.h"
#include "common/replay/table_config_convert.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleTable;
using testing::ValueOf;

// The service's unary methods, called over loopback.
struct Fixture {
  ReplayStore store{ReplayStoreOptions()};
  Executor executor{"test", 1, 100};
  ReplayService service{&store, nullptr, &executor, &executor, ReplayServiceOptions()};
  const std::unique_ptr<RpcServer> server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const std::unique_ptr<v1::ReplayService::Stub> stub =
      v1::ReplayService::NewStub(NewChannel(server->address(), "test"));

  template <class Request, class Response>
  absl::StatusOr<Response> Call(StubMethod<v1::ReplayService::Stub, Request, Response> method, const Request& request) {
    return CallUnary(stub.get(), method, request, absl::Seconds(30));
  }

  void CreateAndFill(uint32_t items) {
    const TableConfig table = SimpleTable("t");
    REQUIRE_OK(store.CreateTable(table));
    const auto session = ValueOf(store.OpenWriter("w", {"t"}, table.signature));
    session->Insert(1, SimpleBlock(0, items), [](const absl::StatusOr<WriterSession::Result>& /*result*/) {});
  }

  // The keys and generations of the items.
  void SampleKeys(std::vector<uint64_t>* keys, std::vector<uint64_t>* generations) {
    const auto table = ValueOf(store.FindTable("t"));
    const auto layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table->created(), 16, 1 << 20)));
    table->Sample(layout, 16, [&](const absl::StatusOr<SampledBatch>& batch) {
      const auto* key = static_cast<const int64_t*>(batch->Data(kItemKey));
      const auto* generation = static_cast<const int64_t*>(batch->Data(kItemGeneration));
      keys->assign(key, key + 16);
      generations->assign(generation, generation + 16);
    });
  }
};

TEST_CASE("Creating a table reports whether it is new, and refuses another table of its name", "[grpc]") {
  Fixture fixture;
  v1::CreateTableRequest request;
  *request.mutable_config() = ToProto(SimpleTable("t"));
  auto response = ValueOf(fixture.Call(&v1::ReplayService::Stub::CreateTable, request));
  CHECK(response.created());
  response = ValueOf(fixture.Call(&v1::ReplayService::Stub::CreateTable, request));
  CHECK(!response.created());
  request.mutable_config()->set_max_items(5);
  const absl::Status status = fixture.Call(&v1::ReplayService::Stub::CreateTable, request).status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(std::string(status.message()).find("max_items") != std::string::npos);
}

TEST_CASE("A table is created on the executor, because it may replace a large one", "[grpc]") {
  Fixture fixture;
  const StopToken release;
  for (int i = 0; i < 101; ++i) {  // One runs; the queue is full.
    absl::Status submitted = fixture.executor.Submit([release] { release.Wait(); });
    while (!submitted.ok()) {
      submitted = fixture.executor.Submit([release] { release.Wait(); });
    }
  }
  v1::CreateTableRequest request;
  *request.mutable_config() = ToProto(SimpleTable("t"));
  const absl::Status status = fixture.Call(&v1::ReplayService::Stub::CreateTable, request).status();
  release.RequestStop();
  REQUIRE_CODE(status, absl::StatusCode::kUnavailable);
}

TEST_CASE("A table is reconfigured against the generation of its configuration", "[grpc]") {
  Fixture fixture;
  fixture.CreateAndFill(20);
  const auto described = ValueOf(fixture.Call(&v1::ReplayService::Stub::Describe, v1::DescribeRequest()));
  v1::ReconfigureRequest request;
  *request.mutable_config() = described.tables(0).config();
  request.set_config_generation(described.tables(0).config_generation());
  request.mutable_config()->set_max_items(5);
  request.set_dry_run(true);
  auto response = ValueOf(fixture.Call(&v1::ReplayService::Stub::Reconfigure, request));
  REQUIRE(response.differences_size() == 1);
  CHECK(response.differences(0) == "max_items: 100000 and 5");
  CHECK(response.items_removed() == 15);
  CHECK(ValueOf(fixture.store.FindTable("t"))->info().items == 20);
  request.set_dry_run(false);
  response = ValueOf(fixture.Call(&v1::ReplayService::Stub::Reconfigure, request));
  CHECK(response.items_removed() == 15);
  CHECK(response.config_generation() == request.config_generation() + 1);
  CHECK(ValueOf(fixture.store.FindTable("t"))->info().items == 5);
  // The generation has changed meanwhile.
  REQUIRE_CODE(fixture.Call(&v1::ReplayService::Stub::Reconfigure, request), absl::StatusCode::kAborted);
  request.mutable_config()->set_name("other");
  REQUIRE_CODE(fixture.Call(&v1::ReplayService::Stub::Reconfigure, request), absl::StatusCode::kNotFound);
  request.mutable_config()->clear_view();
  REQUIRE_CODE(fixture.Call(&v1::ReplayService::Stub::Reconfigure, request), absl::StatusCode::kInvalidArgument);
  // A client that does not know of the change still finds its table.
  v1::CreateTableRequest create;
  *create.mutable_config() = ToProto(SimpleTable("t"));
  const auto created = ValueOf(fixture.Call(&v1::ReplayService::Stub::CreateTable, create));
  CHECK(!created.created());
}

TEST_CASE("A request larger than its method needs is refused before it is parsed", "[grpc]") {
  Fixture fixture;
  v1::CreateTableRequest create;
  *create.mutable_config() = ToProto(SimpleTable("t"));
  while (create.config().signature_size() < 600'000) {
    create.mutable_config()->add_signature();
  }
  const absl::Status status = fixture.Call(&v1::ReplayService::Stub::CreateTable, create).status();
  REQUIRE_CODE(status, absl::StatusCode::kResourceExhausted);
  CHECK(std::string(status.message()).find("more than 1048576 bytes") != std::string::npos);
  v1::ClearRequest clear;
  clear.set_table(std::string(2'000'000, 'x'));
  REQUIRE_CODE(fixture.Call(&v1::ReplayService::Stub::Clear, clear), absl::StatusCode::kResourceExhausted);
  // The most priorities that a client sends at a time are allowed.
  fixture.CreateAndFill(1);
  v1::UpdatePrioritiesRequest update;
  update.set_table("t");
  update.mutable_keys()->Resize(1 << 18, 7);
  update.mutable_generations()->Resize(1 << 18, 7);
  update.mutable_priorities()->Resize(1 << 18, 1.0);
  const auto updated = ValueOf(fixture.Call(&v1::ReplayService::Stub::UpdatePriorities, update));
  CHECK(updated.unknown() == 1 << 18);
}

TEST_CASE("A view with too many fields is refused", "[grpc]") {
  Fixture fixture;
  v1::CreateTableRequest create;
  *create.mutable_config() = ToProto(SimpleTable("t"));
  while (create.config().view_size() < 2000) {
    create.mutable_config()->add_view();
  }
  const absl::Status status = fixture.Call(&v1::ReplayService::Stub::CreateTable, create).status();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK(absl::StartsWith(status.message(), "view: got 2000"));
}

TEST_CASE("Describe shows each table with its counts", "[grpc]") {
  Fixture fixture;
  fixture.CreateAndFill(7);
  const auto response = ValueOf(fixture.Call(&v1::ReplayService::Stub::Describe, v1::DescribeRequest()));
  REQUIRE(response.tables_size() == 1);
  CHECK(response.tables(0).config().name() == "t");
  CHECK(response.tables(0).items() == 7);
  CHECK(response.tables(0).items_inserted() == 7);
  CHECK(response.tables(0).bytes() >= 7 * 12);
  CHECK(response.writers() == 1);
  CHECK(response.writer_bytes() >= 7 * 12);
  CHECK(response.tables(0).items_sampled() == 0);
}

TEST_CASE("Priorities are updated, items deleted and tables cleared", "[grpc]") {
  Fixture fixture;
  fixture.CreateAndFill(1);
  std::vector<uint64_t> keys;
  std::vector<uint64_t> generations;
  fixture.SampleKeys(&keys, &generations);
  REQUIRE(!keys.empty());

  v1::UpdatePrioritiesRequest update;
  update.set_table("t");
  update.add_keys(keys[0]);
  update.add_generations(generations[0]);
  update.add_priorities(2.0);
  const auto updated = ValueOf(fixture.Call(&v1::ReplayService::Stub::UpdatePriorities, update));
  CHECK(updated.applied() == 1);

  v1::DeleteRequest deletion;
  deletion.set_table("t");
  deletion.add_keys(keys[0]);
  REQUIRE_CODE(fixture.Call(&v1::ReplayService::Stub::Delete, deletion), absl::StatusCode::kInvalidArgument);
  deletion.add_generations(generations[0]);
  auto deleted = ValueOf(fixture.Call(&v1::ReplayService::Stub::Delete, deletion));
  CHECK(deleted.deleted() == 1);
  deleted = ValueOf(fixture.Call(&v1::ReplayService::Stub::Delete, deletion));
  CHECK(deleted.deleted() == 0);
  CHECK(deleted.stale() + deleted.unknown() == 1);

  v1::ClearRequest clear;
  clear.set_table("t");
  auto cleared = ValueOf(fixture.Call(&v1::ReplayService::Stub::Clear, clear));
  CHECK(cleared.deleted() == 0);
  clear.set_table("nothing");
  REQUIRE_CODE(fixture.Call(&v1::ReplayService::Stub::Clear, clear), absl::StatusCode::kNotFound);
}

TEST_CASE("Clear removes every item", "[grpc]") {
  Fixture fixture;
  fixture.CreateAndFill(9);
  v1::ClearRequest clear;
  clear.set_table("t");
  const auto cleared = ValueOf(fixture.Call(&v1::ReplayService::Stub::Clear, clear));
  CHECK(cleared.deleted() == 9);
}

// Waits for an explanation of table "t" for which `wanted` is true, and returns it.
v1::TableExplanation ExplainedAs(Fixture* fixture, const std::function<bool(const v1::TableExplanation&)>& wanted) {
  const absl::Time deadline = SteadyNow() + absl::Minutes(1);
  for (;;) {
    v1::ExplainRequest request;
    request.set_table("t");
    const auto response = ValueOf(fixture->Call(&v1::ReplayService::Stub::Explain, request));
    REQUIRE(response.tables_size() == 1);
    if (wanted(response.tables(0))) {
      return response.tables(0);
    }
    INFO(response.tables(0).ShortDebugString());
    REQUIRE(SteadyNow() < deadline);
    std::this_thread::yield();
  }
}

TEST_CASE("Explain names waiting clients by their names, or by their addresses", "[grpc]") {
  Fixture fixture;
  TableConfig table = SimpleTable("t");
  table.rate_limiter.min_items = 5;
  REQUIRE_OK(fixture.store.CreateTable(table));
  const auto connection = ValueOf(NewGrpcReplayConnection({fixture.server->address()}));
  ReplaySamplerOptions options = testing::SimpleSampler(table, 8);
  options.prefetch = 1;
  options.sampler_id = "learner";
  auto named = ValueOf(connection->NewSampler(options));
  ExplainedAs(&fixture, [](const auto& explained) { return explained.samples_waiting() == 1; });
  options.sampler_id = "";
  const auto unnamed = ValueOf(connection->NewSampler(options));
  v1::TableExplanation explained = ExplainedAs(&fixture, [](const auto& now) { return now.samples_waiting() == 2; });
  REQUIRE(explained.waits_size() == 2);
  CHECK(explained.waits(0).kind() == v1::Wait::KIND_SAMPLE);
  CHECK(explained.waits(0).who() == "learner");
  CHECK(explained.waits(0).connected());
  CHECK(explained.waits(0).items() == 8);
  CHECK(explained.waits(0).why().find("5 more items") != std::string::npos);
  CHECK(explained.waits(1).who().find("127.0.0.1:") == 0);
  CHECK(explained.waits(1).why() == "waits for its turn");
  CHECK(explained.cause() == "nobody_writes");
  CHECK(explained.who_could() == "no writer is connected, and none ever was");
  CHECK(explained.config().name() == "t");

  // The table waits after some seconds. A writer of too few items does not end that.
  const auto writer = ValueOf(connection->NewWriter(testing::SimpleWriter("actor-1", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 3), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  explained =
      ExplainedAs(&fixture, [](const auto& now) { return now.verdict() == v1::TableExplanation::VERDICT_WAITING; });
  CHECK(explained.cause() == "too_few_items");
  CHECK(explained.items() == 3);
  CHECK(explained.who_could().find("1 writer is connected: actor-1 (inserted ") == 0);
  REQUIRE(explained.remedies_size() == 1);
  CHECK(explained.remedies(0).setting() == "rate_limiter.min_items");
  CHECK(explained.remedies(0).change() == "<= 3");
  CHECK(explained.remedies(0).is_table_setting());

  // Waiting calls are served, and clients that leave are remembered.
  REQUIRE_OK(writer->Append(SimpleBlock(3, 2), StopToken()));
  explained = ExplainedAs(&fixture, [](const auto& now) { return now.samples_waiting() == 0; });
  CHECK(explained.verdict() == v1::TableExplanation::VERDICT_FLOWING);
  CHECK(explained.items_sampled() == 16);
  named.reset();
  explained = ExplainedAs(&fixture, [](const auto& now) {
    return std::any_of(now.parties().begin(), now.parties().end(),
                       [](const v1::Party& party) { return party.name() == "learner" && !party.connected(); });
  });
  v1::UpdatePrioritiesRequest update;
  update.set_table("t");
  CHECK(!explained.has_priorities_updated_ago());
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::UpdatePriorities, update));
  explained = ExplainedAs(&fixture, [](const auto& now) { return now.has_priorities_updated_ago(); });
  CHECK(explained.priorities_updated_by().find("127.0.0.1:") == 0);
}

TEST_CASE("Explain reports a deadlock at once, and the nearest name for an unknown table", "[grpc]") {
  Fixture fixture;
  TableConfig config = SimpleTable("t");
  config.rate_limiter.min_items = 500;
  config.max_bytes = 3000;
  REQUIRE_OK(fixture.store.CreateTable(config));
  const auto session = ValueOf(fixture.store.OpenWriter("actor-1", {"t"}, config.signature));
  for (uint64_t block = 0; block < 40; ++block) {
    session->Insert(block + 1, SimpleBlock(10 * block, 10),
                    [](const absl::StatusOr<WriterSession::Result>& /*result*/) {});
  }
  const auto table = ValueOf(fixture.store.FindTable("t"));
  const auto layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(config, 8, 1 << 20)));
  // A part of a larger batch, as requested by a client of several servers.
  table->Draw(layout, {8, 500}, [](const absl::StatusOr<DrawnBatch>& /*answer*/) {});
  auto response = ValueOf(fixture.Call(&v1::ReplayService::Stub::Explain, v1::ExplainRequest()));
  REQUIRE(response.tables_size() == 1);
  const v1::TableExplanation& explained = response.tables(0);
  CHECK(explained.verdict() == v1::TableExplanation::VERDICT_DEADLOCK);
  CHECK(explained.cause() == "bytes_too_few");
  REQUIRE(explained.waits_size() == 1);
  CHECK(explained.waits(0).items() == 8);
  CHECK(explained.waits(0).counted() == 500);
  REQUIRE(explained.remedies_size() > 0);
  CHECK(explained.remedies(0).setting() == "max_bytes");

  v1::ExplainRequest unknown;
  unknown.set_table("tt");
  const absl::Status status = fixture.Call(&v1::ReplayService::Stub::Explain, unknown).status();
  REQUIRE_CODE(status, absl::StatusCode::kNotFound);
  CHECK(std::string(status.message()).find("did you mean \"t\"?") != std::string::npos);
}

TEST_CASE("Inspect pages over items, names their writers and shows one item in full", "[grpc]") {
  Fixture fixture;
  fixture.CreateAndFill(25);
  v1::InspectRequest request;
  request.set_table("t");
  request.set_order(v1::InspectRequest::ORDER_NEWEST);
  request.set_page_size(10);
  request.set_statistics(true);
  std::vector<uint64_t> ages;
  v1::InspectResponse response;
  do {
    response = ValueOf(fixture.Call(&v1::ReplayService::Stub::Inspect, request));
    CHECK(response.table_items() == 25);
    CHECK(response.statistics().items() == 25);
    for (const v1::InspectedItem& item : response.items()) {
      ages.push_back(item.age_inserts());
      CHECK(item.producer() == "w");
      CHECK(item.probability() == Approx(1.0 / 25));
      CHECK(item.has_age_seconds());
      CHECK(item.rows() == 1);
    }
    request.set_page_token(response.next_page_token());
  } while (!response.next_page_token().empty());
  REQUIRE(ages.size() == 25);
  for (uint64_t age = 0; age < 25; ++age) {
    CHECK(ages[age] == age);
  }
  REQUIRE(response.statistics().priorities_size() == 1);
  CHECK(response.statistics().priorities(0).low() == 1);
  CHECK(response.statistics().priorities(0).high() == 2);
  REQUIRE(response.statistics().times_sampled_size() == 1);
  CHECK(response.statistics().times_sampled(0).high() == 0);

  v1::InspectRequest one;
  one.set_table("t");
  one.add_keys(response.items(0).key());
  one.set_columns(true);
  one.set_max_column_bytes(8);
  const auto item = ValueOf(fixture.Call(&v1::ReplayService::Stub::Inspect, one));
  REQUIRE(item.items_size() == 1);
  REQUIRE(item.columns_size() == 2);
  CHECK(item.columns(0).spec().name() == "observation");
  CHECK(item.columns(0).spec().shape_size() == 2);
  CHECK(item.columns(0).data().size() == 8);
  CHECK(item.columns(1).data().empty());
  CHECK(item.columns(1).min() == item.columns(0).max());
}

TEST_CASE("Inspect shows compressed columns as they were written", "[grpc]") {
  Fixture fixture;
  TableConfig table = SimpleTable("t", /*width=*/100);
  table.compression = {{"observation", Codec::kZstd}};
  const auto connection = ValueOf(NewGrpcReplayConnection({fixture.server->address()}));
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  ReplayWriterOptions options = testing::SimpleWriter("w", table);
  options.compression = table.compression;
  const auto writer = ValueOf(connection->NewWriter(options));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 5, /*width=*/100), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  v1::InspectRequest request;
  request.set_table("t");
  request.add_keys(3);
  request.set_columns(true);
  request.set_max_column_bytes(1000);
  const auto response = ValueOf(fixture.Call(&v1::ReplayService::Stub::Inspect, request));
  REQUIRE(response.columns_size() == 2);
  const std::vector<float> threes(100, 3);
  const auto* const bytes = reinterpret_cast<const char*>(threes.data());
  CHECK(response.columns(0).data() == std::string(bytes, threes.size() * sizeof(float)));
}

TEST_CASE("Inspect refuses invalid requests", "[grpc]") {
  Fixture fixture;
  fixture.CreateAndFill(1);
  const auto code_of = [&fixture](const std::function<void(v1::InspectRequest*)>& change) {
    v1::InspectRequest request;
    request.set_table("t");
    change(&request);
    return fixture.Call(&v1::ReplayService::Stub::Inspect, request).status().code();
  };
  CHECK(code_of([](auto* request) { request->set_table("u"); }) == absl::StatusCode::kNotFound);
  CHECK(code_of([](auto* request) { request->set_page_size(5000); }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](auto* request) { request->set_page_token("?"); }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](auto* request) { request->set_order(static_cast<v1::InspectRequest::Order>(99)); }) ==
        absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](auto* request) { request->set_columns(true); }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](auto* request) {
          request->set_columns(true);
          request->add_keys(7);
        }) == absl::StatusCode::kNotFound);
}

TEST_CASE("Reconfigure returns the differences and logs them; a dry run only returns them", "[grpc]") {
  Fixture fixture;
  fixture.CreateAndFill(25);
  v1::ReconfigureRequest request;
  *request.mutable_config() = ToProto(SimpleTable("t"));
  request.mutable_config()->set_max_items(20);
  request.set_config_generation(1);
  request.set_dry_run(true);
  request.set_requester("bee@hive");
  testing::CapturedStream log(STDERR_FILENO);
  auto response = ValueOf(fixture.Call(&v1::ReplayService::Stub::Reconfigure, request));
  CHECK(response.items_removed() == 5);
  request.set_dry_run(false);
  response = ValueOf(fixture.Call(&v1::ReplayService::Stub::Reconfigure, request));
  REQUIRE(response.differences_size() == 1);
  CHECK(response.differences(0) == "max_items: 100000 and 20");
  CHECK(response.config_generation() == 2);
  REQUIRE_CODE(fixture.Call(&v1::ReplayService::Stub::Reconfigure, request), absl::StatusCode::kAborted);
  request.set_requester(std::string(1000, 'x'));
  REQUIRE_CODE(fixture.Call(&v1::ReplayService::Stub::Reconfigure, request), absl::StatusCode::kInvalidArgument);
  const std::string text = log.Finish();
  CAPTURE(text);
  CHECK(text.find("table \"t\" was changed by bee@hive at 127.0.0.1:") != std::string::npos);
  CHECK(text.find("to generation 2 (before and after): max_items: 100000 and 20; 5 items were removed") !=
        std::string::npos);
  CHECK(text.find("a change by bee@hive at 127.0.0.1:") != std::string::npos);
  // The other two lines are the first refusal of each reason.
  CHECK(text.find("refused: Reconfigure of 127.0.0.1:") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
}

}  // namespace
}  // namespace waggle
