#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "absl/time/time.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"

namespace waggle::testing {

// A proxy between clients and a server on this machine that causes network faults. Thread-safe.
class TcpProxy {
 public:
  enum Direction { kToServer, kToClient };

  // Forwards to 127.0.0.1:PORT.
  explicit TcpProxy(const std::string& server);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  const std::string& address() const { return address_; }

  // These three affect the present connections; later ones are forwarded. Ends them with an error on both sides (RST).
  void Reset() ABSL_LOCKS_EXCLUDED(mutex_);
  // Stops forwarding without a notice, like a pulled cable.
  void Silence() ABSL_LOCKS_EXCLUDED(mutex_);
  // After `bytes` more bytes in this direction, over all connections, ends the connection with the last of them.
  void CutAfter(Direction direction, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Delays pieces of up to 64 KiB by `delay`, one after the other.
  void SetDelay(absl::Duration delay) ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t cuts() const ABSL_LOCKS_EXCLUDED(mutex_);  // Cuts made by CutAfter.
  int64_t connections() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Bytes sent by one side and not yet passed to the other.
  struct Way {
    std::string bytes;
    absl::Time ready;
  };
  struct Connection {
    int fd[2] = {-1, -1};  // By the direction that ends there: the server's, the client's.
    Way ways[2];
    bool silent = false;
    bool over = false;
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void Accept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Read(Connection* connection, Direction direction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(Connection* connection, Direction direction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Close(Connection* connection, bool reset);
  void Wake() const;

  std::string address_;
  int server_port_ = 0;
  int listener_ = -1;
  int wake_ = -1;
  mutable Mutex mutex_;
  std::list<Connection> connections_ ABSL_GUARDED_BY(mutex_);
  absl::Duration delay_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  int64_t left_[2] ABSL_GUARDED_BY(mutex_) = {-1, -1};  // Bytes until a cut; -1: no cut.
  int64_t cuts_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_;  // Last: it uses everything above.
};

}  // namespace waggle::testing
