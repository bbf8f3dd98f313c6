#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "common/base/check.h"
#include "common/base/threads/thread.h"

namespace waggle::bench {

// The machine's own loopback TCP: a thread answers each byte with a block of bytes. One caller.
class LoopbackTcp {
 public:
  explicit LoopbackTcp(size_t bytes) : received_(bytes) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    WAGGLE_CHECK(bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(listener, 1) == 0 &&
                     getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0,
                 "a port of the loopback interface can be had");
    client_ = socket(AF_INET, SOCK_STREAM, 0);
    WAGGLE_CHECK(connect(client_, reinterpret_cast<sockaddr*>(&address), size) == 0, "the listener is there");
    server_ = accept(listener, nullptr, nullptr);
    close(listener);
    const int on = 1;
    setsockopt(client_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(server_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    thread_ = Thread("loopback", [this, bytes] { Serve(bytes); });
  }
  ~LoopbackTcp() {
    shutdown(client_, SHUT_RDWR);
    thread_.Join();
    close(client_);
    close(server_);
  }
  LoopbackTcp(const LoopbackTcp&) = delete;
  LoopbackTcp& operator=(const LoopbackTcp&) = delete;

  // Requests the block and receives all of it.
  void Transfer() {
    const char ask = 1;
    WAGGLE_CHECK(send(client_, &ask, 1, MSG_NOSIGNAL) == 1, "the connection holds");
    for (size_t done = 0; done < received_.size();) {
      const ssize_t got = recv(client_, received_.data() + done, received_.size() - done, 0);
      WAGGLE_CHECK(got > 0, "the connection holds");
      done += static_cast<size_t>(got);
    }
  }

 private:
  void Serve(size_t bytes) const {
    const std::vector<char> block(bytes, 1);
    char asked = 0;
    while (recv(server_, &asked, 1, 0) == 1) {
      for (size_t done = 0; done < bytes;) {
        const ssize_t sent = send(server_, block.data() + done, bytes - done, MSG_NOSIGNAL);
        if (sent <= 0) {
          return;
        }
        done += static_cast<size_t>(sent);
      }
    }
  }

  std::vector<char> received_;
  int client_ = -1;
  int server_ = -1;
  Thread thread_;
};

}  // namespace waggle::bench
