#include "common/rpc/unary_call.h"

#include <memory>

#include "absl/cleanup/cleanup.h"
#include "common/base/mutex.h"
#include "common/base/thread.h"
#include "common/rpc/server.h"
#include "tests/support/catch.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {
namespace {

// Far longer than anything here takes.
constexpr absl::Duration kPatience = absl::Seconds(60);

// Answers Clear at once and leaves Describe unanswered until the caller has gone.
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
  v1::ClearResponse response;
  REQUIRE_OK(CallUnary(absl::Seconds(20), StopToken(), [&](grpc::ClientContext* context) {
    return stub->Clear(context, v1::ClearRequest(), &response);
  }));
  CHECK(response.deleted() == 7);
}

TEST_CASE("CallUnary gives up at its deadline", "[grpc]") {
  SlowService service;
  const auto server = testing::ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const auto stub = v1::ReplayService::NewStub(NewChannel(server->address(), "test"));
  v1::DescribeResponse response;
  REQUIRE_CODE(CallUnary(absl::Milliseconds(50), StopToken(),
                         [&](grpc::ClientContext* context) {
                           return stub->Describe(context, v1::DescribeRequest(), &response);
                         }),
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
  const absl::Cleanup release = [&service] { service.called.RequestStop(); };  // Where the call never arrived.
  v1::DescribeResponse response;
  const auto call = [&](grpc::ClientContext* context) {
    return stub->Describe(context, v1::DescribeRequest(), &response);
  };
  REQUIRE_CODE(CallUnary(kPatience, stop, call), absl::StatusCode::kCancelled);
  REQUIRE_CODE(CallUnary(kPatience, stop, call), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
