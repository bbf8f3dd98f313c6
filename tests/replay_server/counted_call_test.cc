#include "replay_server/counted_call.h"

#include <grpcpp/test/default_reactor_test_peer.h>

#include "common/base/stop_token.h"
#include "common/clients/table_config_convert.h"
#include "replay_server/replay_service.h"
#include "tests/support/catch.h"
#include "tests/support/failing_memory.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

// How calls end otherwise, refused_requests_test.cc shows for all of them.

TEST_CASE("Memory that runs out while a request is taken in is refused and counted", "[unit]") {
  ReplayStore store{ReplayStoreOptions()};
  Executor executor("test", 1, 100);
  ReplayService service(&store, nullptr, &executor, &executor, ReplayServiceOptions());
  v1::CreateTableRequest request;
  *request.mutable_config() = ToProto(testing::SimpleTable("t"));
  const grpc::ByteBuffer bytes = EncodeMessage(request, ByteSlices());
  REQUIRE_OK(Guarded([] {}));  // As any call before has.
  uint64_t refused = 0;
  bool failed = true;
  for (int64_t allocations = 0; failed; ++allocations) {
    CAPTURE(allocations);
    grpc::CallbackServerContext context;
    grpc::testing::DefaultReactorTestPeer peer(&context);
    grpc::ByteBuffer response;
    testing::FailMemory(allocations, /*for_good=*/false);
    service.CreateTable(&context, &bytes, &response);
    failed = testing::StopFailingMemory();
    const StopToken drained;
    REQUIRE_OK(executor.Submit([drained] { drained.RequestStop(); }));
    drained.Wait();
    REQUIRE(peer.test_status_set());
    CHECK(peer.test_status().ok() == !failed);
    refused += failed ? 1 : 0;
  }
  CHECK(refused > 0);
  grpc::CallbackServerContext context;
  grpc::testing::DefaultReactorTestPeer peer(&context);
  grpc::ByteBuffer response;
  const grpc::ByteBuffer nothing = EncodeMessage(v1::DescribeRequest(), ByteSlices());
  service.Describe(&context, &nothing, &response);
  v1::DescribeResponse described;
  REQUIRE_OK(DecodeRequest(response, 1 << 20, &described));
  CHECK(described.refusals().at("out_of_memory") == refused);
}

}  // namespace
}  // namespace waggle
