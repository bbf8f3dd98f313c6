#include "common/net/rpc_figures.h"

#include <string>

#include "common/net/server.h"
#include "common/net/unary_call.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {
namespace {

using testing::ValueOf;

constexpr absl::Duration kPatience = absl::Seconds(60);

class Service final : public v1::ReplayService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Clear(grpc::CallbackServerContext* context, const v1::ClearRequest* request,
                                  v1::ClearResponse* /*response*/) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(request->table().empty() ? grpc::Status::OK : grpc::Status(grpc::StatusCode::NOT_FOUND, "no"));
    return reactor;
  }
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* /*context*/, const v1::DescribeRequest* /*request*/,
                                     v1::DescribeResponse* /*response*/) override {
    class Reactor final : public grpc::ServerUnaryReactor {
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }
    };
    return new Reactor;
  }
};

std::string TextOf(const RpcFigures& figures) {
  PrometheusText text;
  figures.Write(&text);
  return text.Text();
}

bool Has(const RpcFigures& figures, const std::string& method, const std::string& status, int calls) {
  return TextOf(figures).find("grpc_server_call_duration_seconds_count{grpc_method=\"" + method + "\",grpc_status=\"" +
                              status + "\"} " + std::to_string(calls) + "\n") != std::string::npos;
}

TEST_CASE("a server counts its calls by method and status", "[grpc]") {
  RpcFigures figures;  // Outlives the server.
  Service service;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}, kServerKeepalive, &figures));
  const auto stub = v1::ReplayService::NewStub(NewChannel(server->address(), "test"));
  v1::ClearRequest request;
  CHECK(CallUnary(stub.get(), &v1::ReplayService::Stub::Clear, request, kPatience).ok());
  CHECK(CallUnary(stub.get(), &v1::ReplayService::Stub::Clear, request, kPatience).ok());
  request.set_table("unknown");
  CHECK(!CallUnary(stub.get(), &v1::ReplayService::Stub::Clear, request, kPatience).ok());
  CHECK(!CallUnary(stub.get(), &v1::ReplayService::Stub::Describe, v1::DescribeRequest(), absl::Milliseconds(50)).ok());
  // The server counts a call after its answer has been sent.
  testing::Eventually("the call is counted", [&] { return Has(figures, "waggle.v1.ReplayService/Clear", "OK", 2); });
  testing::Eventually("the call is counted",
                      [&] { return Has(figures, "waggle.v1.ReplayService/Clear", "NOT_FOUND", 1); });
  testing::Eventually("the call is counted",
                      [&] { return Has(figures, "waggle.v1.ReplayService/Describe", "CANCELLED", 1); });
}

TEST_CASE("methods that this program does not have share a name", "[unit]") {
  RpcFigures figures;
  for (int i = 0; i < 100; ++i) {
    figures.Count("/waggle.v1.ReplayService/Invented" + std::to_string(i), grpc::StatusCode::UNIMPLEMENTED,
                  absl::Milliseconds(1));
  }
  CHECK(Has(figures, "other", "UNIMPLEMENTED", 100));
  CHECK(TextOf(figures).find("Invented") == std::string::npos);
}

}  // namespace
}  // namespace waggle
