#include "replay_server/replay_service.h"

#include <memory>

#include "common/clients/replay_convert.h"
#include "common/rpc/channel.h"
#include "common/rpc/server.h"
#include "common/rpc/unary_call.h"
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
  ReplayService service{&store, &executor, ReplayServiceOptions()};
  const std::unique_ptr<RpcServer> server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const std::unique_ptr<v1::ReplayService::Stub> stub =
      v1::ReplayService::NewStub(NewChannel(server->address(), "test"));

  template <class Request, class Response>
  absl::Status Call(grpc::Status (v1::ReplayService::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    return CallUnary(absl::Seconds(30), StopToken(),
                     [&](grpc::ClientContext* context) { return (stub.get()->*method)(context, request, response); });
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
    const auto layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table->config(), 16, 1 << 20)));
    table->Sample(layout, 16, [&](const absl::StatusOr<SampledBatch>& batch) {
      const auto* key = static_cast<const int64_t*>(batch->Data(kItemKey));
      const auto* generation = static_cast<const int64_t*>(batch->Data(kItemGeneration));
      keys->assign(key, key + 16);
      generations->assign(generation, generation + 16);
    });
  }
};

TEST_CASE("Creating a table says whether it is new, and refuses another one of its name", "[grpc]") {
  Fixture fixture;
  v1::CreateTableRequest request;
  *request.mutable_config() = ToProto(SimpleTable("t"));
  v1::CreateTableResponse response;
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::CreateTable, request, &response));
  CHECK(response.created());
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::CreateTable, request, &response));
  CHECK(!response.created());
  request.mutable_config()->set_max_items(5);
  const absl::Status status = fixture.Call(&v1::ReplayService::Stub::CreateTable, request, &response);
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(std::string(status.message()).find("max_items") != std::string::npos);
}

TEST_CASE("Describe shows each table with what happened to it", "[grpc]") {
  Fixture fixture;
  fixture.CreateAndFill(7);
  v1::DescribeResponse response;
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::Describe, v1::DescribeRequest(), &response));
  REQUIRE(response.tables_size() == 1);
  CHECK(response.tables(0).config().name() == "t");
  CHECK(response.tables(0).items() == 7);
  CHECK(response.tables(0).items_inserted() == 7);
  CHECK(response.tables(0).bytes() >= 7 * 12);
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
  v1::UpdatePrioritiesResponse updated;
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::UpdatePriorities, update, &updated));
  CHECK(updated.applied() == 1);

  v1::DeleteRequest deletion;
  deletion.set_table("t");
  deletion.add_keys(keys[0]);
  v1::DeleteResponse deleted;
  REQUIRE_CODE(fixture.Call(&v1::ReplayService::Stub::Delete, deletion, &deleted), absl::StatusCode::kInvalidArgument);
  deletion.add_generations(generations[0]);
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::Delete, deletion, &deleted));
  CHECK(deleted.deleted() == 1);
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::Delete, deletion, &deleted));
  CHECK(deleted.deleted() == 0);
  CHECK(deleted.stale() + deleted.unknown() == 1);

  v1::ClearRequest clear;
  clear.set_table("t");
  v1::ClearResponse cleared;
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::Clear, clear, &cleared));
  CHECK(cleared.deleted() == 0);
  clear.set_table("nothing");
  REQUIRE_CODE(fixture.Call(&v1::ReplayService::Stub::Clear, clear, &cleared), absl::StatusCode::kNotFound);
}

TEST_CASE("Clear removes every item", "[grpc]") {
  Fixture fixture;
  fixture.CreateAndFill(9);
  v1::ClearRequest clear;
  clear.set_table("t");
  v1::ClearResponse cleared;
  REQUIRE_OK(fixture.Call(&v1::ReplayService::Stub::Clear, clear, &cleared));
  CHECK(cleared.deleted() == 9);
}

}  // namespace
}  // namespace waggle
