#include "common/net/call_trace.h"

#include <string>

#include "common/base/log_context.h"
#include "common/net/server.h"
#include "common/net/unary_call.h"
#include "common/net/unary_method.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {
namespace {

using testing::ValueOf;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";

// Refuses Clear at once and Reset in another thread. Keeps the trace of each call's thread.
class RefusingService final : public v1::ReplayService::WithRawCallbackMethod_Clear<
                                  v1::ReplayService::WithRawCallbackMethod_Describe<v1::ReplayService::Service>> {
 public:
  grpc::ServerUnaryReactor* Clear(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override {
    return AnswerUnary<v1::ClearRequest, v1::ClearResponse>(
        context, *request, response, kMaxUnaryBytes,
        [this](const auto& /*decoded*/, auto* /*answer*/) { return Refuse(); });
  }
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override {
    return AnswerLater<v1::DescribeRequest, v1::DescribeResponse>(
        &executor_, context, *request, response, kMaxUnaryBytes,
        [this](const auto& /*decoded*/, auto* /*answer*/) { return Refuse(); });
  }

  std::string trace;

 private:
  absl::Status Refuse() {
    trace = ThreadTraceId();
    return absl::NotFoundError("no such table");
  }

  Executor executor_{"calls", 1, 10};
};

void Clear(const RpcServer& server) {
  const auto stub = v1::ReplayService::NewStub(NewChannel(server.address(), "test"));
  CHECK(
      absl::IsNotFound(CallUnary(stub.get(), &v1::ReplayService::Stub::Clear, v1::ClearRequest(), kPatience).status()));
}

TEST_CASE("a call carries the trace of its thread, and the server's thread has it", "[grpc]") {
  RefusingService service;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  {
    const LogScope scope({"", "", kTrace});
    Clear(*server);
    CHECK(service.trace == kTrace);
    service.trace.clear();
    const auto stub = v1::ReplayService::NewStub(NewChannel(server->address(), "test"));
    CHECK(absl::IsNotFound(
        CallUnary(stub.get(), &v1::ReplayService::Stub::Describe, v1::DescribeRequest(), kPatience).status()));
    CHECK(service.trace == kTrace);
  }
  Clear(*server);
  CHECK(service.trace.empty());
}

TEST_CASE("a refused call is logged by its trace, and one without a trace is not", "[unit]") {
  testing::CapturedStream captured(STDERR_FILENO);
  LogRefusal("", absl::NotFoundError("no such table"), absl::ZeroDuration());
  LogRefusal(kTrace, absl::OkStatus(), absl::ZeroDuration());
  LogRefusal(kTrace, absl::NotFoundError("no such experiment"), absl::ZeroDuration());
  LogRefusal(kTrace, absl::NotFoundError("too soon"), absl::InfiniteDuration());
  const std::string text = captured.Finish();
  CAPTURE(text);
  CHECK(text.find("no such table") == std::string::npos);
  CHECK(text.find("no such experiment (trace 0af7651916cd43dd8448eb211c80319c)\n") != std::string::npos);
  CHECK(text.find("too soon") == std::string::npos);
}

}  // namespace
}  // namespace waggle
