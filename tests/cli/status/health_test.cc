#include "cli/status/health.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

#include "common/net/server.h"
#include "tests/support/catch.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

using ::waggle::testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);
constexpr char kService[] = "waggle.v1.WorkerService";

TEST_CASE("A server that serves is healthy, an unknown service and an address without a server are not", "[grpc]") {
  v1::WorkerService::Service service;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  REQUIRE_OK(AskHealth(server->address(), "", kTimeout));
  REQUIRE_CODE(AskHealth(server->address(), "no.such.Service", kTimeout), absl::StatusCode::kNotFound);
  REQUIRE_CODE(AskHealth("127.0.0.1:1", "", kTimeout), absl::StatusCode::kUnavailable);
}

TEST_CASE("A server is not healthy if it, or the service, does not serve", "[grpc]") {
  grpc::EnableDefaultHealthCheckService(true);
  v1::WorkerService::Service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  REQUIRE(server != nullptr);
  const std::string address = "127.0.0.1:" + std::to_string(port);
  grpc::HealthCheckServiceInterface* const health = server->GetHealthCheckService();
  health->SetServingStatus(kService, false);
  REQUIRE_OK(AskHealth(address, "", kTimeout));
  REQUIRE_CODE(AskHealth(address, kService, kTimeout), absl::StatusCode::kFailedPrecondition);
  health->SetServingStatus(false);
  REQUIRE_CODE(AskHealth(address, "", kTimeout), absl::StatusCode::kFailedPrecondition);
  server->Shutdown();
}

}  // namespace
}  // namespace waggle
