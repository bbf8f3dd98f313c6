#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/thread.h"

namespace waggle {

// The sockets that a server listens on, and the thread that accepts connections. gRPC's own listener (of 1.51) accepts
// nothing ever again once an accept has failed: for want of a file descriptor, or because a client had gone already
// (grpc/grpc#20418, #29308). This one goes on, and leaves a quarter of the descriptors that the process may have to its
// files: a database that cannot open one stops writing.
class Listener {
 public:
  // How long what is sent to a client may stay unanswered by its machine: then the connection has failed. Without it
  // one whose buffers are full when its client loses power would stay for a quarter of an hour.
  static constexpr int kSendTimeoutMs = 20'000;

  // Listens on HOST:PORT, on all addresses that a name has; port 0 takes a free one, the same for all. All of the
  // machine's addresses, which 0.0.0.0 and [::] stand for, are those of both protocols where it has both.
  // INVALID_ARGUMENT for what is no address; UNAVAILABLE, saying why, where it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const std::string& listen);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // HOST:PORT as it was given, with the port that was taken.
  const std::string& address() const { return address_; }

  // Hands every connection to `accepted`, on a thread of its own, which then owns the descriptor. Called once.
  using Accepted = std::function<void(int descriptor)>;
  void Start(Accepted accepted);

  // How often it could not accept, and clients that were turned away.
  int64_t failures() const { return failures_.load(std::memory_order_relaxed); }

  // Closes the sockets. Nobody is called any more once it returns. Idempotent; the destructor does it too.
  void Stop();

 private:
  Listener(std::vector<int> sockets, std::string address, int wake);

  void Run();
  // Accepts what there is, up to a number. Returns whether to wait before the next try, because it would fail as this
  // one has.
  bool AcceptSome(int socket);

  // Says why it cannot accept, now and then.
  void Complain(const std::string& why);

  std::vector<int> sockets_;
  const std::string address_;
  const int wake_;  // An eventfd: readable once it is to stop.
  Accepted accepted_;
  std::atomic<int64_t> failures_{0};
  absl::Time complained_ = absl::InfinitePast();  // Of the thread alone.
  Thread thread_;
};

}  // namespace waggle
