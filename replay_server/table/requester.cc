#include "replay_server/table/requester.h"

#include <algorithm>
#include <utility>

#include "common/base/steady_now.h"

namespace waggle {
namespace {

absl::Duration FromNanoseconds(int64_t ns) {
  return ns == 0 ? -absl::InfiniteDuration() : absl::Nanoseconds(ns);
}

// True if only the list has it.
bool IsGone(const std::shared_ptr<Requester>& requester) {
  return requester.use_count() == 1;
}

}  // namespace

void Requester::Count(int64_t items, int64_t now_ns) {
  items_.store(items_.load(std::memory_order_relaxed) + items, std::memory_order_relaxed);
  last_ns_.store(now_ns, std::memory_order_relaxed);
}

absl::Duration Requester::last_counted() const {
  return FromNanoseconds(last_ns_.load(std::memory_order_relaxed));
}

void Requester::Looks(uint32_t waits_for, int64_t now_ns) {
  if (looks_for_.load(std::memory_order_relaxed) == 0 && waits_for > 0) {
    looks_since_ns_.store(now_ns, std::memory_order_relaxed);
  }
  looks_for_.store(waits_for, std::memory_order_relaxed);
}

absl::Duration Requester::looks_since() const {
  return FromNanoseconds(looks_since_ns_.load(std::memory_order_relaxed));
}

absl::Duration Requester::left() const {
  return FromNanoseconds(left_ns_.load(std::memory_order_relaxed));
}

Requester::Presence::Presence(std::vector<std::shared_ptr<Requester>> requesters) : requesters_(std::move(requesters)) {
  for (const std::shared_ptr<Requester>& requester : requesters_) {
    requester->connections_.fetch_add(1, std::memory_order_relaxed);
  }
}

Requester::Presence& Requester::Presence::operator=(Presence&& other) noexcept {
  if (this != &other) {
    End();
    requesters_.swap(other.requesters_);
  }
  return *this;
}

void Requester::Presence::End() {
  for (const std::shared_ptr<Requester>& requester : requesters_) {
    requester->left_ns_.store(CoarseSteadyNanoseconds(), std::memory_order_relaxed);
    requester->connections_.fetch_sub(1, std::memory_order_relaxed);
  }
  requesters_.clear();
}

std::shared_ptr<Requester> Requesters::Add(Requester::Kind kind, absl::string_view name) {
  MutexLock lock(&mutex_);
  for (const std::shared_ptr<Requester>& requester : requesters_) {
    if (requester->kind() == kind && requester->name() == name && IsGone(requester)) {
      return requester;
    }
  }
  ForgetLocked();
  requesters_.push_back(std::make_shared<Requester>(kind, std::string(name)));
  return requesters_.back();
}

void Requesters::ForgetLocked() {
  const auto gone = static_cast<size_t>(std::count_if(requesters_.begin(), requesters_.end(), IsGone));
  if (gone < kMaxGone) {
    return;
  }
  auto longest = requesters_.end();
  for (auto it = requesters_.begin(); it != requesters_.end(); ++it) {
    if (IsGone(*it) && (longest == requesters_.end() || (*it)->left() < (*longest)->left())) {
      longest = it;
    }
  }
  requesters_.erase(longest);
}

std::vector<std::shared_ptr<const Requester>> Requesters::all() const {
  MutexLock lock(&mutex_);
  return {requesters_.begin(), requesters_.end()};
}

}  // namespace waggle
