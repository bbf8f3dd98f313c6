#include "common/net/listener.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "common/base/threads/mutex.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/tcp_socket.h"

namespace waggle {
namespace {

using testing::Eventually;
using testing::LowestFreeDescriptor;
using testing::NoDescriptors;
using Socket = testing::TcpSocket;
using testing::ValueOf;

// Keeps the accepted connections open.
class Accepted {
 public:
  ~Accepted() { CloseAll(); }
  Listener::Accepted Add() {
    return [this](int descriptor) {
      MutexLock lock(&mutex_);
      descriptors_.push_back(descriptor);
    };
  }
  size_t count() const {
    MutexLock lock(&mutex_);
    return descriptors_.size();
  }
  bool Await(size_t count) {
    Eventually("connections", [&] { return this->count() >= count; });
    return this->count() == count;
  }
  void CloseAll() {
    MutexLock lock(&mutex_);
    for (const int descriptor : descriptors_) {
      close(descriptor);
    }
    descriptors_.clear();
  }

 private:
  mutable Mutex mutex_;
  std::vector<int> descriptors_;
};

bool HasIpv6() {
  return Listener::Open("[::1]:0").ok();
}

TEST_CASE("A listener hands connections on until it stops", "[grpc]") {
  Accepted accepted;
  const auto listener = ValueOf(Listener::Open("127.0.0.1:0"));
  CHECK(listener->address().rfind("127.0.0.1:", 0) == 0);
  const Socket before(listener->address());  // Waits until it is accepted.
  REQUIRE(before.connected());
  listener->Start(accepted.Add());
  CHECK(accepted.Await(1));
  const Socket after(listener->address());
  CHECK(accepted.Await(2));
  listener->Stop();
  CHECK_FALSE(Socket(listener->address()).connected());
  listener->Stop();
  CHECK(listener->failures() == 0);
}

TEST_CASE("A listener listens on all addresses that its host stands for", "[grpc]") {
  const std::string host = GENERATE(as<std::string>(), "0.0.0.0", "[::]", "localhost");
  if (host == "[::]" && !HasIpv6()) {
    WARN("this machine has no IPv6");
    return;
  }
  Accepted accepted;
  const auto listener = ValueOf(Listener::Open(host + ":0"));
  listener->Start(accepted.Add());
  CHECK(listener->address().rfind(host + ":", 0) == 0);
  const Socket ipv4(listener->address());
  CHECK(ipv4.connected());
  CHECK(accepted.Await(1));
  if (HasIpv6() && host != "localhost") {
    Socket ipv6(AF_INET6);
    CHECK(ipv6.Connect(listener->address()));
    CHECK(accepted.Await(2));
  }
}

TEST_CASE("A write to a client whose machine is gone fails in time, as on gRPC's own connections", "[grpc]") {
  std::atomic<int> timeout_ms{-1};
  std::atomic<int> no_delay{-1};
  const auto listener = ValueOf(Listener::Open("127.0.0.1:0"));
  listener->Start([&](int descriptor) {
    int value = 0;
    socklen_t size = sizeof(value);
    getsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &value, &size);
    no_delay = value;
    getsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &size);
    timeout_ms = value;
    close(descriptor);
  });
  Socket client(listener->address());
  CHECK(client.AwaitEnd());
  CHECK(timeout_ms == 20'000);
  CHECK(no_delay != 0);
}

TEST_CASE("An address that cannot be listened on is refused with the reason", "[grpc]") {
  const auto listener = ValueOf(Listener::Open("127.0.0.1:0"));
  const auto says = [](const std::string& listen, const std::string& part) {
    const auto opened = Listener::Open(listen);
    REQUIRE_CODE(opened, absl::StatusCode::kUnavailable);
    INFO(opened.status().message());
    CHECK(opened.status().message().find(listen) != absl::string_view::npos);
    CHECK(opened.status().message().find(part) != absl::string_view::npos);
  };
  says(listener->address(), "the port is taken");
  const std::string port = listener->address().substr(listener->address().rfind(':'));
  says("0.0.0.0" + port, "the port is taken");
  says("192.0.2.1:7001", "not one of this machine's");
  says("no-such-host.invalid:7001", "cannot listen on");
  CHECK(absl::IsInvalidArgument(Listener::Open("7001").status()));
}

TEST_CASE("A listener that finds no descriptor goes on when there are some again", "[grpc]") {
  Accepted accepted;
  const auto listener = ValueOf(Listener::Open("127.0.0.1:0"));
  listener->Start(accepted.Add());
  std::vector<std::unique_ptr<Socket>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Socket>());
  }
  {
    const NoDescriptors none;
    for (const auto& client : clients) {
      REQUIRE(client->Connect(listener->address()));
    }
    Eventually("failures", [&] { return listener->failures() >= 2; });
  }
  // Earlier clients may have been turned away, if another thread has given a descriptor back.
  const size_t before = accepted.count();
  const Socket after(listener->address());
  Eventually("another connection", [&] { return accepted.count() > before; });
}

TEST_CASE("Clients are turned away if they would take the last quarter of the descriptors", "[grpc]") {
  Accepted accepted;
  const auto listener = ValueOf(Listener::Open("127.0.0.1:0"));
  listener->Start(accepted.Add());
  std::vector<std::unique_ptr<Socket>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<Socket>());
  }
  const int lowest = LowestFreeDescriptor();
  // Room for eight: threads of earlier tests may still hold a few.
  const NoDescriptors few((lowest + 8) * 4 / 3 + 1);
  for (const auto& client : clients) {
    REQUIRE(client->Connect(listener->address()));
  }
  Eventually("all of them", [&] { return static_cast<int64_t>(accepted.count()) + listener->failures() == 20; });
  CHECK(accepted.count() >= 3);
  CHECK(accepted.count() <= 14);  // More than the free descriptors, if other threads give theirs back.
  Eventually("the end of the clients that were turned away", [&] {
    return std::count_if(clients.begin(), clients.end(), [](const auto& client) { return client->HasEnded(); }) ==
           listener->failures();
  });
  // A closed connection makes room.
  accepted.CloseAll();
  REQUIRE(Socket(listener->address()).connected());
  CHECK(accepted.Await(1));
}

}  // namespace
}  // namespace waggle
