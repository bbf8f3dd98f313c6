#include "common/base/process/monitor.h"

#include <atomic>
#include <memory>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/tcp_socket.h"

namespace waggle {
namespace {

using testing::TcpSocket;
using testing::ValueOf;

// A clock that a test sets, in seconds.
std::atomic<int> seconds{0};

std::unique_ptr<Monitor> Serve() {
  seconds = 0;
  MonitorOptions options;
  options.listen = "127.0.0.1:0";
  options.part = "learner";
  options.most_silent = absl::Seconds(60);
  options.clock = [] { return absl::UnixEpoch() + absl::Seconds(seconds.load()); };
  return ValueOf(Monitor::Start(options));
}

std::string Get(const Monitor& monitor, const std::string& path) {
  TcpSocket client(monitor.address());
  client.Write("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
  return client.ReadToEnd();
}

int StatusOf(const std::string& answer) {
  return answer.rfind("HTTP/1.1 ", 0) == 0 ? std::stoi(answer.substr(9, 3)) : 0;
}

TEST_CASE("figures of all functions are served, until their registration ends", "[unit]") {
  const std::unique_ptr<Monitor> monitor = Serve();
  auto one = monitor->Add([](PrometheusText* text) { text->Gauge("one", "One.", 1); });
  const auto two = monitor->Add([](PrometheusText* text) { text->Gauge("two", "Two.", 2); });
  const std::string both = Get(*monitor, "/metrics");
  CHECK(StatusOf(both) == 200);
  CHECK(both.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") != std::string::npos);
  CHECK(both.find("\none 1\n") != std::string::npos);
  CHECK(both.find("\ntwo 2\n") != std::string::npos);
  CHECK(both.find("\nwaggle_build_info{") != std::string::npos);
  one.reset();
  const std::string rest = Get(*monitor, "/metrics");
  CHECK(rest.find("\none 1\n") == std::string::npos);
  CHECK(rest.find("\ntwo 2\n") != std::string::npos);
}

TEST_CASE("a process is healthy while it starts, and while its main loop goes round", "[unit]") {
  const std::unique_ptr<Monitor> monitor = Serve();
  seconds = 1000;
  CHECK(StatusOf(Get(*monitor, "/healthz")) == 200);
  monitor->Beat();
  seconds = 1060;
  CHECK(StatusOf(Get(*monitor, "/healthz")) == 200);
  seconds = 1061;
  const std::string stuck = Get(*monitor, "/healthz");
  CHECK(StatusOf(stuck) == 503);
  CHECK(stuck.find("61 s") != std::string::npos);
  monitor->Beat();
  CHECK(StatusOf(Get(*monitor, "/healthz")) == 200);
}

TEST_CASE("a process says why it is not ready", "[unit]") {
  const std::unique_ptr<Monitor> monitor = Serve();
  CHECK(StatusOf(Get(*monitor, "/readyz")) == 503);
  monitor->SetUnready("");
  CHECK(StatusOf(Get(*monitor, "/readyz")) == 200);
  monitor->SetUnready("the hub is away");
  const std::string away = Get(*monitor, "/readyz");
  CHECK(StatusOf(away) == 503);
  CHECK(away.find("the hub is away\n") != std::string::npos);
}

TEST_CASE("without an address nothing is served, and a wrong one is refused by its flag", "[unit]") {
  MonitorOptions options;
  CHECK(ValueOf(Monitor::Start(options))->address().empty());
  options.listen = "nowhere";
  const absl::Status refused = Monitor::Start(options).status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK(std::string(refused.message()).find("--metrics-listen") != std::string::npos);
}

}  // namespace
}  // namespace waggle
