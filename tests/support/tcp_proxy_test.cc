#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_; }
  void Send(const std::string& text) const {
    REQUIRE(send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  }
  // Up to `size` bytes; fewer, with the cause in `error`, if the connection ends before.
  std::string Receive(size_t size, int* error = nullptr) const {
    std::string text;
    char byte = 0;
    ssize_t got = 0;
    while (text.size() < size && (got = recv(fd_, &byte, 1, 0)) == 1) {
      text.push_back(byte);
    }
    if (error != nullptr) {
      *error = got < 0 ? errno : 0;
    }
    return text;
  }
  bool Readable(int milliseconds) const {
    pollfd fd = {fd_, POLLIN, 0};
    return poll(&fd, 1, milliseconds) == 1;
  }

 private:
  const int fd_;
};

// A listener, and a pair of sockets that are connected through a proxy.
struct Fixture {
  Fixture() : listener(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(bind(listener.fd(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(listener.fd(), 4) == 0);
    REQUIRE(getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    proxy = std::make_unique<TcpProxy>("127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(proxy->address().substr(proxy->address().find(':') + 1))));
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
    client = std::make_unique<Socket>(fd);
    server = std::make_unique<Socket>(accept(listener.fd(), nullptr, nullptr));
    client->Send("hello");
    REQUIRE(server->Receive(5) == "hello");
    server->Send("there");
    REQUIRE(client->Receive(5) == "there");
  }

  const Socket listener;
  std::unique_ptr<TcpProxy> proxy;
  std::unique_ptr<Socket> client;
  std::unique_ptr<Socket> server;
};

TEST_CASE("A proxy resets connections", "[unit]") {
  const Fixture f;
  f.proxy->Reset();
  int error = 0;
  CHECK(f.client->Receive(1, &error).empty());
  CHECK(error == ECONNRESET);
  CHECK(f.server->Receive(1, &error).empty());
  CHECK(error == ECONNRESET);
}

TEST_CASE("A proxy cuts a connection in the middle of a transfer", "[unit]") {
  const Fixture f;
  f.proxy->CutAfter(TcpProxy::kToServer, 3);
  f.client->Send("again");
  CHECK(f.server->Receive(5) == "aga");
  CHECK(f.client->Receive(1).empty());
  CHECK(f.proxy->cuts() == 1);
}

TEST_CASE("A connection that a proxy silences neither ends nor carries data", "[unit]") {
  const Fixture f;
  f.proxy->Silence();
  f.client->Send("lost");
  f.server->Send("lost");
  CHECK(!f.server->Readable(50));
  CHECK(!f.client->Readable(0));
  CHECK(f.proxy->connections() == 1);
}

TEST_CASE("A proxy that delays passes everything on", "[unit]") {
  const Fixture f;
  f.proxy->SetDelay(absl::Milliseconds(2));
  std::string text;
  for (int i = 0; i < 10; ++i) {
    f.client->Send(std::to_string(i));
    text += std::to_string(i);
  }
  CHECK(f.server->Receive(10) == text);
}

}  // namespace
}  // namespace waggle::testing
