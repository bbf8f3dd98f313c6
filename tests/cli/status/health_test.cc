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

TEST_CASE("A server that serves is healthy", "[grpc]") {
  v1::WorkerService::Service service;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  REQUIRE_OK(AskHealth(server->address(), "", kTimeout));
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
  const absl::Status one = AskHealth(address, kService, kTimeout);
  REQUIRE_CODE(one, absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(one.message()), Catch::Contains(kService) && Catch::Contains(address));
  health->SetServingStatus(false);
  REQUIRE_CODE(AskHealth(address, "", kTimeout), absl::StatusCode::kFailedPrecondition);
  server->Shutdown();
}

TEST_CASE("An unknown service is not healthy", "[grpc]") {
  v1::WorkerService::Service service;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const absl::Status status = AskHealth(server->address(), "no.such.Service", kTimeout);
  REQUIRE_CODE(status, absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(status.message()), Catch::Contains("no.such.Service"));
}

TEST_CASE("An address without a server is not healthy", "[grpc]") {
  const absl::Status status = AskHealth("127.0.0.1:1", "", kTimeout);
  REQUIRE_CODE(status, absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(status.message()), Catch::Contains("127.0.0.1:1"));
}

}  // namespace
}  // namespace waggle
