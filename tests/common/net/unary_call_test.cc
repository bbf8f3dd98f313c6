#include "common/net/unary_call.h"

#include <memory>

#include "absl/cleanup/cleanup.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "common/net/server.h"
#include "tests/support/catch.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {
namespace {

// Far longer than any call here takes.
constexpr absl::Duration kPatience = absl::Seconds(60);

// Answers Clear at once. Leaves Describe unanswered until the caller has gone.
class SlowService final : public v1::ReplayService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Clear(grpc::CallbackServerContext* context, const v1::ClearRequest* /*request*/,
                                  v1::ClearResponse* response) override {
    response->set_deleted(7);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* /*context*/, const v1::DescribeRequest* /*request*/,
                                     v1::DescribeResponse* /*response*/) override {
    class Reactor final : public grpc::ServerUnaryReactor {
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }
    };
    called.RequestStop();
    return new Reactor;
  }

  StopToken called;
};

TEST_CASE("CallUnary returns the answer", "[grpc]") {
  SlowService service;
  const auto server = testing::ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const auto stub = v1::ReplayService::NewStub(NewChannel(server->address(), "test"));
  const auto response =
      testing::ValueOf(CallUnary(stub.get(), &v1::ReplayService::Stub::Clear, v1::ClearRequest(), absl::Seconds(20)));
  CHECK(response.deleted() == 7);
}

TEST_CASE("CallUnary gives up at its deadline", "[grpc]") {
  SlowService service;
  const auto server = testing::ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const auto stub = v1::ReplayService::NewStub(NewChannel(server->address(), "test"));
  REQUIRE_CODE(CallUnary(stub.get(), &v1::ReplayService::Stub::Describe, v1::DescribeRequest(), absl::Milliseconds(50)),
               absl::StatusCode::kDeadlineExceeded);
}

TEST_CASE("A stop ends CallUnary, before and during the call", "[grpc]") {
  SlowService service;
  const auto server = testing::ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const auto stub = v1::ReplayService::NewStub(NewChannel(server->address(), "test"));
  const StopToken stop;
  const Thread stopper("stopper", [&service, stop] {
    service.called.WaitFor(kPatience);
    stop.RequestStop();
  });
  const absl::Cleanup release = [&service] { service.called.RequestStop(); };  // If the call never arrives.
  for (int i = 0; i < 2; ++i) {
    REQUIRE_CODE(CallUnary(stub.get(), &v1::ReplayService::Stub::Describe, v1::DescribeRequest(), kPatience, stop),
                 absl::StatusCode::kCancelled);
  }
}

}  // namespace
}  // namespace waggle
