#include "replay_server/counted_call.h"

#include <grpcpp/test/default_reactor_test_peer.h>

#include <memory>

#include "common/clients/table_config_convert.h"
#include "replay_server/replay_service.h"
#include "tests/support/catch.h"
#include "tests/support/failing_memory.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

// How calls end otherwise, refused_requests_test.cc shows for all of them.

// What a service has refused for want of memory.
uint64_t Refused(ReplayService* service) {
  grpc::CallbackServerContext context;
  grpc::testing::DefaultReactorTestPeer peer(&context);
  grpc::ByteBuffer response;
  const grpc::ByteBuffer request = EncodeMessage(v1::DescribeRequest(), ByteSlices());
  service->Describe(&context, &request, &response);
  v1::DescribeResponse described;
  REQUIRE_OK(DecodeRequest(response, 1 << 20, &described));
  const auto found = described.refusals().find("out_of_memory");
  return found == described.refusals().end() ? 0 : found->second;
}

TEST_CASE("Memory that runs out while a request is taken in is refused and counted", "[unit]") {
  ReplayStore store{ReplayStoreOptions()};
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
    auto executor = std::make_unique<Executor>("test", 1, 100);
    ReplayService service(&store, nullptr, executor.get(), executor.get(), ReplayServiceOptions());
    testing::FailMemory(allocations, /*for_good=*/false);
    service.CreateTable(&context, &bytes, &response);
    failed = testing::StopFailingMemory();
    executor = nullptr;  // It has done all by then.
    REQUIRE(peer.test_status_set());
    CHECK(peer.test_status().ok() == !failed);
    CHECK(Refused(&service) == (failed ? 1 : 0));
    refused += failed ? 1 : 0;
  }
  CHECK(refused > 0);
}

}  // namespace
}  // namespace waggle
