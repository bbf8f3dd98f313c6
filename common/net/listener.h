#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/thread.h"
#include "common/net/security/peer_rates.h"

namespace waggle {

// Accepts a server's connections in a thread. The listener of gRPC 1.51 stops for good after a failed accept, for
// example without a free descriptor (grpc/grpc#20418, #29308). This one goes on. It leaves a quarter of the process's
// descriptors to files, because a database that cannot open a file stops writing.
class Listener {
 public:
  // The longest time that sent bytes may be unanswered. Without it, a connection with full buffers would stay for a
  // quarter of an hour after its client lost power.
  static constexpr int kSendTimeoutMs = 20'000;

  // New connections of one host. A pool of a thousand processes on one host may start at once.
  static constexpr PeerRateOptions kConnectionRate = {200, 8192};

  // Listens on HOST:PORT, on all addresses of a name. Port 0 takes a free one, the same for all. 0.0.0.0 and [::] are
  // all addresses of the machine, of both protocols if possible. INVALID_ARGUMENT for a malformed address; UNAVAILABLE,
  // with the reason, if listening fails.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const std::string& listen);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // With the port that was taken.
  const std::string& address() const { return address_; }

  // Calls `accepted` for each connection, from its own thread. `accepted` owns the descriptor. Called once.
  using Accepted = std::function<void(int descriptor)>;
  void Start(Accepted accepted);

  // Failed accepts and clients that were turned away.
  int64_t failures() const { return failures_.load(std::memory_order_relaxed); }

  // Closes the sockets, and returns after the last call of `accepted`. Idempotent. The destructor calls it.
  void Stop();

 private:
  Listener(std::vector<int> sockets, std::string address, int wake);

  void Run();
  // Accepts waiting connections up to a limit. Returns true if the next try needs a pause, because it would fail too.
  bool AcceptSome(int socket);

  // Logs the reason of failures at long intervals.
  void Complain(const std::string& why);

  std::vector<int> sockets_;
  const std::string address_;
  const int wake_;  // An eventfd: readable once the thread must stop.
  Accepted accepted_;
  PeerRates rates_{kConnectionRate};
  std::atomic<int64_t> failures_{0};
  absl::Time complained_ = absl::InfinitePast();  // Owned by the thread.
  Thread thread_;
};

}  // namespace waggle
