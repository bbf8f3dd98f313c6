#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/rpc/channel.h"
#include "common/rpc/client_stream.h"

// Streams of a replay service whose messages a test makes itself, as no client of ours would.

namespace waggle::testing {

inline constexpr char kInsert[] = "/waggle.v1.ReplayService/Insert";
inline constexpr char kSample[] = "/waggle.v1.ReplayService/Sample";

// What came of a raw stream. Thread-safe.
class StreamOutcome {
 public:
  void Close(absl::Status status) {
    MutexLock lock(&mutex_);
    closed_ = true;
    status_ = std::move(status);
    changed_.SignalAll();
  }
  void Message() {
    MutexLock lock(&mutex_);
    ++messages_;
    changed_.SignalAll();
  }
  absl::Status AwaitClosed() {
    MutexLock lock(&mutex_);
    while (!closed_) {
      if (!changed_.WaitFor(&mutex_, absl::Seconds(30))) {
        return absl::DeadlineExceededError("the stream did not end");
      }
    }
    return status_;
  }
  bool AwaitMessages(int count) {
    MutexLock lock(&mutex_);
    while (messages_ < count) {
      if (!changed_.WaitFor(&mutex_, absl::Seconds(30))) {
        return false;
      }
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool closed_ = false;
  int messages_ = 0;
  absl::Status status_;
};

class RawClient final : public RawClientStreamHandler {
 public:
  RawClient(std::shared_ptr<StreamOutcome> outcome, std::shared_ptr<RawStreamPeer>* peer, bool reads_on)
      : outcome_(std::move(outcome)), out_(peer), reads_on_(reads_on) {}
  void OnOpen(std::shared_ptr<RawStreamPeer> peer) override { *out_ = peer_ = std::move(peer); }
  void OnMessage(grpc::ByteBuffer /*message*/) override {
    outcome_->Message();
    if (reads_on_) {
      peer_->RequestNext();
    }
  }
  void OnPeerDone() override {}
  void OnClosed(absl::Status status) override { outcome_->Close(std::move(status)); }

 private:
  const std::shared_ptr<StreamOutcome> outcome_;
  std::shared_ptr<RawStreamPeer>* const out_;
  const bool reads_on_;
  std::shared_ptr<RawStreamPeer> peer_;
};

struct RawStream {
  std::shared_ptr<StreamOutcome> outcome = std::make_shared<StreamOutcome>();
  std::shared_ptr<RawStreamPeer> peer;

  RawStream(const std::string& address, const std::string& method, bool reads_on = true)
      : RawStream(NewChannel(address, "hostile"), method, reads_on) {}
  RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, bool reads_on = true) {
    OpenRawClientStream(channel, method, std::make_unique<RawClient>(outcome, &peer, reads_on));
  }
  ~RawStream() {
    peer->Close(absl::CancelledError("the test is over"));
    (void)outcome->AwaitClosed();
  }
};

}  // namespace waggle::testing
