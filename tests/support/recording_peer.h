#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/threads/mutex.h"
#include "common/net/stream_handler.h"

namespace waggle::testing {

// A StreamPeer that records a handler's calls, so that handlers are tested without a network. Thread-safe.
template <class Outgoing>
class RecordingPeer final : public StreamPeer<Outgoing> {
 public:
  // With `take_at_once` messages count as sent when they are queued; otherwise when TakeOne is called.
  explicit RecordingPeer(bool take_at_once = true) : take_at_once_(take_at_once) {}

  void Send(Outgoing message, std::function<void()> sent) override {
    {
      MutexLock lock(&mutex_);
      if (closed_.has_value()) {
        return;
      }
      messages_.push_back(std::move(message));
      changed_.SignalAll();
      if (!take_at_once_) {
        untaken_.push_back(std::move(sent));
        return;
      }
    }
    if (sent != nullptr) {
      sent();
    }
  }

  void RequestNext() override {
    MutexLock lock(&mutex_);
    ++requests_;
    changed_.SignalAll();
  }

  void Close(absl::Status status) override {
    std::vector<std::function<void()>> dropped;
    MutexLock lock(&mutex_);
    if (!closed_.has_value()) {
      closed_ = std::move(status);
      dropped.swap(untaken_);
    }
    changed_.SignalAll();
  }

  // Takes the oldest queued message, as the transport does. Returns true if there was one.
  bool TakeOne() {
    std::function<void()> sent;
    {
      MutexLock lock(&mutex_);
      if (untaken_.empty()) {
        return false;
      }
      sent = std::move(untaken_.front());
      untaken_.erase(untaken_.begin());
    }
    if (sent != nullptr) {
      sent();
    }
    return true;
  }

  // These wait, for at most ten seconds, until `count` messages were sent, the next one was requested `count` times, or
  // the stream was closed. They return true if that happened.
  bool AwaitMessages(size_t count) {
    return Await([this, count] { return messages_.size() >= count; });
  }
  bool AwaitRequests(int count) {
    return Await([this, count] { return requests_ >= count; });
  }
  bool AwaitClosed() {
    return Await([this] { return closed_.has_value(); });
  }

  // Drops its records, and with them the memory that messages share.
  void Forget() {
    std::vector<Outgoing> dropped;
    MutexLock lock(&mutex_);
    dropped.swap(messages_);
  }

  std::vector<Outgoing> messages() const {
    MutexLock lock(&mutex_);
    return messages_;
  }
  int requests() const {
    MutexLock lock(&mutex_);
    return requests_;
  }
  std::optional<absl::Status> closed() const {
    MutexLock lock(&mutex_);
    return closed_;
  }

 private:
  template <class Condition>
  bool Await(const Condition& condition) {
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    MutexLock lock(&mutex_);
    while (!condition()) {
      const absl::Duration left = deadline - absl::Now();
      if (left <= absl::ZeroDuration()) {
        return false;
      }
      changed_.WaitFor(&mutex_, left);
    }
    return true;
  }

  const bool take_at_once_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Outgoing> messages_;
  std::vector<std::function<void()>> untaken_;
  int requests_ = 0;
  std::optional<absl::Status> closed_;
};

}  // namespace waggle::testing
