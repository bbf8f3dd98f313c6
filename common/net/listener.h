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

namespace waggle {

// The sockets that a server listens on, and the thread that accepts connections. The listener of gRPC 1.51 never
// accepts again once an accept has failed: for want of a file descriptor, or because a client had gone already
// (grpc/grpc#20418, #29308). This one goes on. It leaves a quarter of the process's descriptors to files: a database
// that cannot open a file stops writing.
class Listener {
 public:
  // A connection has failed if the client's machine leaves sent bytes unanswered for so long. Without this limit a
  // connection whose buffers are full when its client loses power would stay for a quarter of an hour.
  static constexpr int kSendTimeoutMs = 20'000;

  // Listens on HOST:PORT, on all addresses of a name; port 0 takes a free one, the same for all. 0.0.0.0 and [::] stand
  // for all addresses of the machine, of both protocols if it has both. INVALID_ARGUMENT for text that is not an
  // address; UNAVAILABLE, with the reason, if the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const std::string& listen);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The given HOST:PORT, with the port that was taken.
  const std::string& address() const { return address_; }

  // Hands every connection to `accepted`, on a thread of its own. `accepted` then owns the descriptor. Called once.
  using Accepted = std::function<void(int descriptor)>;
  void Start(Accepted accepted);

  // The number of failed accepts and of clients that were turned away.
  int64_t failures() const { return failures_.load(std::memory_order_relaxed); }

  // Closes the sockets. `accepted` is not called any more once this returns. Idempotent; the destructor does it too.
  void Stop();

 private:
  Listener(std::vector<int> sockets, std::string address, int wake);

  void Run();
  // Accepts the waiting connections, up to a number. Returns true if the next try must come after a pause, because it
  // would fail as this one has.
  bool AcceptSome(int socket);

  // Logs why it cannot accept, now and then.
  void Complain(const std::string& why);

  std::vector<int> sockets_;
  const std::string address_;
  const int wake_;  // An eventfd: readable once the thread must stop.
  Accepted accepted_;
  std::atomic<int64_t> failures_{0};
  absl::Time complained_ = absl::InfinitePast();  // Owned by the thread.
  Thread thread_;
};

}  // namespace waggle
