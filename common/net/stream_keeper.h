#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/stopwatch.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "common/net/client_stream.h"

namespace waggle {

class StreamKeeper;

struct StreamKeeperOptions {
  std::string name;  // For the log: "inserting at 10.0.0.1:7001".
  // Begins a StreamAttempt at the server's current address, and returns at once. Returns false if the address is
  // unknown: the keeper calls again after a pause.
  std::function<bool(StreamKeeper*)> open;
  // Restores the thing that the server reported as NOT_FOUND. Called again after errors that may pass (MayPass). Null:
  // NOT_FOUND is like any other error.
  std::function<absl::Status(const StopToken&)> restore = nullptr;
  // Called with an error that may not pass, after which nothing is opened. Null: every error may pass.
  std::function<void(absl::Status)> failed = nullptr;
  // Called once before the destructor cancels the stream. May be null.
  std::function<void()> goodbye = nullptr;
  // NOT_FOUND for so long, although `restore` succeeds, is an error that may not pass.
  absl::Duration not_found_patience = absl::Seconds(5);
};

// Keeps a stream open, from its own thread: reopens it after its end and a jittered pause.
class StreamKeeper {
 public:
  explicit StreamKeeper(StreamKeeperOptions options);
  // Cancels the stream and waits until it has ended.
  ~StreamKeeper();
  StreamKeeper(const StreamKeeper&) = delete;
  StreamKeeper& operator=(const StreamKeeper&) = delete;

  // An attempt's calls, in this order, from any thread. `cancel` makes the attempt end soon.
  void Began(std::function<void()> cancel) ABSL_LOCKS_EXCLUDED(mutex_);
  // The server has answered: the next pause is short.
  void Opened() ABSL_LOCKS_EXCLUDED(mutex_);
  // The last call. The keeper may be destroyed before it returns.
  void Ended(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run();
  // Handles a stream that ended with NOT_FOUND. Returns an error that may not pass, or OK. `missing` is the time since
  // the first such end; empty while the server cannot be asked.
  absl::Status Restore(const absl::Status& status, std::optional<Stopwatch>* missing);
  absl::Status WaitForEnd() ABSL_LOCKS_EXCLUDED(mutex_);

  const StreamKeeperOptions options_;
  const StopToken stop_;
  Mutex mutex_;
  CondVar changed_;
  std::function<void()> cancel_ ABSL_GUARDED_BY(mutex_);       // Null if no attempt is under way.
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);  // Empty if an attempt is under way.
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;                // The server has answered this attempt.
  bool away_ ABSL_GUARDED_BY(mutex_) = false;                  // An attempt has failed and none succeeded since.
  Thread thread_;                                              // Last: it uses everything above.
};

// One stream of a keeper. The client's first error ends it, and is reported to the keeper even if the server ends the
// stream at the same moment.
template <class Incoming, class Outgoing>
class StreamAttempt : public ClientStreamHandler<Incoming, Outgoing> {
 public:
  using Peer = StreamPeer<Outgoing>;

  explicit StreamAttempt(StreamKeeper* keeper) : keeper_(keeper) {}

  void OnOpen(std::shared_ptr<Peer> peer) final {
    peer_ = std::move(peer);
    Begin();
    keeper_->Began([peer = peer_] { peer->Close(absl::CancelledError("the client has no more use for the stream")); });
  }
  void OnMessage(Incoming message) final {
    absl::Status status = Handle(std::move(message));
    if (!status.ok()) {
      failure_ = status;
      Failed(status);
      peer_->Close(std::move(status));
      return;
    }
    peer_->RequestNext();
  }
  void OnPeerDone() final {}
  void OnClosed(absl::Status status) final {
    Closed();
    keeper_->Ended(failure_.ok() ? std::move(status) : failure_);
  }

 protected:
  // Sends the first message.
  virtual void Begin() = 0;
  virtual absl::Status Handle(Incoming message) = 0;
  // The client's own error, at once. The keeper learns it at the stream's end.
  virtual void Failed(const absl::Status& /*failure*/) {}
  virtual void Closed() = 0;

  const std::shared_ptr<Peer>& peer() const { return peer_; }
  bool is_open() const { return is_open_; }
  void SetOpen() {
    if (!std::exchange(is_open_, true)) {
      keeper_->Opened();
    }
  }

 private:
  StreamKeeper* const keeper_;  // Waits for the end of its attempt.
  std::shared_ptr<Peer> peer_;
  bool is_open_ = false;
  absl::Status failure_;
};

}  // namespace waggle
