#include "common/base/process/pool_monitor.h"

#include <memory>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/tcp_socket.h"

namespace waggle {
namespace {

using testing::TcpSocket;
using testing::ValueOf;

std::string Get(PoolMonitor* pool, const std::string& path) {
  TcpSocket client(pool->monitor()->address());
  client.Write("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
  return client.ReadToEnd();
}

TEST_CASE("a process of the pool exports its orders' figures and its calls", "[unit]") {
  const std::unique_ptr<PoolMonitor> pool = ValueOf(PoolMonitor::Start(
      "127.0.0.1:0", "actor", {{"steps", "waggle_actor_steps_total", ExportedFigure::Kind::kCounter, "Steps."}}));
  Metrics metrics;
  const auto order = pool->orders()->Attach(&metrics);
  metrics.Add("steps", 5);
  REQUIRE(pool->rpcs() != nullptr);
  pool->rpcs()->Count("/x/Y", grpc::StatusCode::OK, absl::Milliseconds(1));
  const std::string text = Get(pool.get(), "/metrics");
  CHECK(text.find("\nwaggle_actor_orders 1\n") != std::string::npos);
  CHECK(text.find("\nwaggle_actor_steps_total 5\n") != std::string::npos);
  CHECK(text.find("\ngrpc_server_call_duration_seconds_count{") != std::string::npos);
}

TEST_CASE("a process of the pool is ready while the hub answers", "[unit]") {
  const std::unique_ptr<PoolMonitor> pool = ValueOf(PoolMonitor::Start("127.0.0.1:0", "actor", {}));
  CHECK(Get(pool.get(), "/readyz").find("HTTP/1.1 503") == 0);
  pool->attended()("");
  CHECK(Get(pool.get(), "/readyz").find("HTTP/1.1 200") == 0);
  pool->attended()("the hub is away");
  CHECK(Get(pool.get(), "/readyz").find("HTTP/1.1 503") == 0);
  CHECK(Get(pool.get(), "/healthz").find("HTTP/1.1 200") == 0);
}

TEST_CASE("calls are not counted if nothing is served", "[unit]") {
  CHECK(ValueOf(PoolMonitor::Start("", "actor", {}))->rpcs() == nullptr);
}

}  // namespace
}  // namespace waggle
