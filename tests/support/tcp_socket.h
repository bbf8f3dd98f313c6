#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tests/support/catch.h"

// Plain TCP clients, and a limit on the process's file descriptors.

namespace waggle::testing {

// A TCP socket, closed at the end of its scope.
class TcpSocket {
 public:
  explicit TcpSocket(int family = AF_INET) : family_(family), fd_(socket(family, SOCK_STREAM, 0)) {
    const timeval patience{30, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  explicit TcpSocket(const std::string& address) : TcpSocket() { Connect(address); }
  ~TcpSocket() { close(fd_); }
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  // Connects to the port of this address, on this machine.
  bool Connect(const std::string& address) {
    const uint16_t port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    if (family_ == AF_INET6) {
      sockaddr_in6 name{};
      name.sin6_family = AF_INET6;
      name.sin6_port = port;
      name.sin6_addr = in6addr_loopback;
      connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
    } else {
      sockaddr_in name{};
      name.sin_family = AF_INET;
      name.sin_port = port;
      name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
    }
    return connected_;
  }
  bool connected() const { return connected_; }
  int descriptor() const { return fd_; }

  void Write(const std::string& bytes) { (void)!send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }

  // Reads until `bytes` have come at any time since the beginning. Returns false otherwise.
  bool AwaitBytes(const std::string& bytes) {
    char buffer[4096];
    while (read_.find(bytes) == std::string::npos) {
      const ssize_t size = recv(fd_, buffer, sizeof(buffer), 0);
      if (size <= 0) {
        return false;
      }
      read_.append(buffer, static_cast<size_t>(size));
    }
    return true;
  }
  // True if the other side has closed the connection, and nothing is left to read.
  bool HasEnded() const {
    char byte = 0;
    const ssize_t size = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return size == 0 || (size < 0 && errno == ECONNRESET);
  }

  // Reads until the other side has closed the connection, and returns what came.
  std::string ReadToEnd() {
    std::string all;
    char buffer[4096];
    for (ssize_t size = 0; (size = recv(fd_, buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, static_cast<size_t>(size));
    }
    return all;
  }

  // Reads until the other side has closed the connection. Returns false if it does not.
  bool AwaitEnd() {
    char buffer[4096];
    ssize_t size = 0;
    do {
      size = recv(fd_, buffer, sizeof(buffer), 0);
    } while (size > 0);
    return size == 0 || errno == ECONNRESET;
  }

 private:
  const int family_;
  const int fd_;
  std::string read_;  // Read by AwaitBytes.
  bool connected_ = false;
};

inline int LowestFreeDescriptor() {
  const int lowest = open("/dev/null", O_RDONLY);
  close(lowest);
  return lowest;
}

// During its life this process may have file descriptors below `limit` only; by default no new ones.
class NoDescriptors {
 public:
  explicit NoDescriptors(int limit = LowestFreeDescriptor()) {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit limited = before_;
    limited.rlim_cur = static_cast<rlim_t>(limit);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limited) == 0);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace waggle::testing
