#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

constexpr size_t kPiece = 64 << 10;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

bool WouldBlock() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

TcpProxy::TcpProxy(const std::string& server)
    : server_port_(std::stoi(server.substr(server.rfind(':') + 1))),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  REQUIRE(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(listener_, 64) == 0);
  REQUIRE(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  thread_ = Thread("tcp-proxy", [this] { Run(); });
}

TcpProxy::~TcpProxy() {
  {
    MutexLock lock(&mutex_);
    stop_ = true;
  }
  Wake();
  thread_.Join();
  for (Connection& connection : connections_) {
    Close(&connection, /*reset=*/false);
  }
  close(listener_);
  close(wake_);
}

void TcpProxy::Reset() {
  MutexLock lock(&mutex_);
  for (Connection& connection : connections_) {
    Close(&connection, /*reset=*/true);
  }
  Wake();
}

void TcpProxy::Silence() {
  MutexLock lock(&mutex_);
  for (Connection& connection : connections_) {
    connection.silent = true;
  }
  Wake();
}

void TcpProxy::CutAfter(Direction direction, int64_t bytes) {
  MutexLock lock(&mutex_);
  left_[direction] = bytes;
}

void TcpProxy::SetDelay(absl::Duration delay) {
  MutexLock lock(&mutex_);
  delay_ = delay;
}

int64_t TcpProxy::cuts() const {
  MutexLock lock(&mutex_);
  return cuts_;
}

int64_t TcpProxy::connections() const {
  MutexLock lock(&mutex_);
  return static_cast<int64_t>(connections_.size());
}

void TcpProxy::Wake() const {
  const uint64_t one = 1;
  (void)!write(wake_, &one, sizeof(one));
}

void TcpProxy::Close(Connection* connection, bool reset) {
  for (int& fd : connection->fd) {
    if (fd >= 0 && reset) {
      const linger at_once = {1, 0};
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    if (fd >= 0) {
      close(fd);
    }
    fd = -1;
  }
  connection->over = true;
}

void TcpProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client < 0) {
    return;
  }
  // A connection to this machine succeeds or fails at once.
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(server_port_);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(server);
    close(client);
    return;
  }
  fcntl(server, F_SETFL, O_NONBLOCK);
  const int on = 1;
  for (const int fd : {server, client}) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  Connection& connection = connections_.emplace_back();
  connection.fd[kToServer] = server;
  connection.fd[kToClient] = client;
}

void TcpProxy::Read(Connection* connection, Direction direction) {
  Way& way = connection->ways[direction];
  const int from = connection->fd[direction == kToServer ? kToClient : kToServer];
  way.bytes.resize(kPiece);
  const ssize_t size = read(from, way.bytes.data(), kPiece);
  way.bytes.resize(size > 0 ? static_cast<size_t>(size) : 0);
  way.ready = absl::Now() + delay_;
  if (size == 0 || (size < 0 && !WouldBlock())) {
    Close(connection, /*reset=*/false);
  }
}

void TcpProxy::Write(Connection* connection, Direction direction) {
  Way& way = connection->ways[direction];
  int64_t& left = left_[direction];
  const size_t most = left < 0 ? way.bytes.size() : std::min(way.bytes.size(), static_cast<size_t>(left));
  const ssize_t size = send(connection->fd[direction], way.bytes.data(), most, MSG_NOSIGNAL);
  if (size < 0 && !WouldBlock()) {
    Close(connection, /*reset=*/false);
    return;
  }
  const size_t sent = size > 0 ? static_cast<size_t>(size) : 0;
  way.bytes.erase(0, sent);
  if (left >= 0) {
    left -= static_cast<int64_t>(sent);
    if (left == 0) {
      left = -1;
      ++cuts_;
      Close(connection, /*reset=*/false);
    }
  }
}

void TcpProxy::Run() {
  for (;;) {
    std::vector<pollfd> fds = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    // The connection and direction of each other entry.
    struct Interest {
      Connection* connection;
      Direction direction;
      bool write;
    };
    std::vector<Interest> interests;
    int timeout_ms = -1;
    {
      MutexLock lock(&mutex_);
      if (stop_) {
        return;
      }
      connections_.remove_if([](const Connection& connection) { return connection.over; });
      for (Connection& connection : connections_) {
        for (const Direction direction : {kToServer, kToClient}) {
          const Way& way = connection.ways[direction];
          const absl::Duration wait = way.ready - absl::Now();
          if (connection.silent) {
            continue;
          }
          if (!way.bytes.empty() && wait > absl::ZeroDuration()) {
            const int ms = static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1;
            timeout_ms = timeout_ms < 0 ? ms : std::min(timeout_ms, ms);
            continue;
          }
          const bool write = !way.bytes.empty();
          const int from = connection.fd[direction == kToServer ? kToClient : kToServer];
          fds.push_back({write ? connection.fd[direction] : from, static_cast<short>(write ? POLLOUT : POLLIN), 0});
          interests.push_back({&connection, direction, write});
        }
      }
    }
    if (poll(fds.data(), fds.size(), timeout_ms) < 0 && errno != EINTR) {
      return;
    }
    uint64_t ignored;
    (void)!read(wake_, &ignored, sizeof(ignored));
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < interests.size(); ++i) {
      const auto& [connection, direction, write] = interests[i];
      // Only this thread removes connections, but others may have ended one meanwhile.
      if (fds[i + 2].revents == 0 || connection->over || connection->silent) {
        continue;
      }
      if (write) {
        Write(connection, direction);
      } else {
        Read(connection, direction);
      }
    }
    if (fds[0].revents != 0) {
      Accept();
    }
  }
}

}  // namespace waggle::testing
