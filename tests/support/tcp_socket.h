#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace waggle::testing {

// A TCP connection to 127.0.0.1 at the port of an address, closed at the end of its scope: for what no client of gRPC
// would send.
class TcpSocket {
 public:
  explicit TcpSocket(const std::string& address) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in name{};
    const timeval patience{30, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    inet_pton(AF_INET, "127.0.0.1", &name.sin_addr);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
  }
  ~TcpSocket() { close(fd_); }
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  bool connected() const { return connected_; }
  void Write(const std::string& bytes) { (void)!send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Reads until this has come, at any time since the beginning. Returns false if it does not.
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
  const int fd_;
  std::string read_;  // By AwaitBytes.
  bool connected_ = false;
};

}  // namespace waggle::testing
