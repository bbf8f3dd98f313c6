#include "common/net/stream_core.h"

#include "common/base/guard.h"

namespace waggle {

void StreamCore::Queue(Outgoing outgoing) {
  MutexLock lock(&mutex_);
  if (closing_) {
    return;
  }
  closing_ = outgoing.last;
  outbox_.push_back(std::move(outgoing));
  if (!writing_) {
    WriteLocked();
  }
}

void StreamCore::RequestNext() {
  MutexLock lock(&mutex_);
  wanted_ = delivering_;  // Then ReadEnded begins the read, so that deliveries never overlap.
  if (!stopped_) {
    ReadLocked();
  }
}

void StreamCore::Abort(absl::Status status) {
  Close(std::move(status));
  MutexLock lock(&mutex_);
  if (reactor_ != nullptr && writing_) {
    reactor_->Cancel();  // Drops the message that is being written.
  }
}

void StreamCore::End(absl::Status status, bool peer_left) {
  std::vector<Outgoing> dropped;  // Destroyed outside the lock.
  std::function<void()> finish;
  {
    MutexLock lock(&mutex_);
    if (stopped_ || (closing_ && status.ok())) {
      return;
    }
    closing_ = true;
    final_status_ = std::move(status);
    peer_left_ = peer_left;
    if (final_status_.ok()) {
      stopped_ = side_ == Side::kServer;
    } else {
      if (side_ == Side::kClient) {
        reactor_->Cancel();
      }
      StopLocked(&dropped);
    }
    finish = FinishLocked();
  }
  if (finish != nullptr) {
    finish();
  }
}

void StreamCore::ReadEnded(bool ok, absl::FunctionRef<void(grpc::ByteBuffer*)> deliver) {
  bool delivers = false;
  {
    MutexLock lock(&mutex_);
    reading_ = false;
    delivering_ = true;
    delivers = !ok || !stopped_;
  }
  if (delivers) {
    absl::Status failed = Guarded([&] { deliver(ok ? &incoming_ : nullptr); });
    if (!failed.ok()) {
      Close(std::move(failed));
    }
  }
  incoming_.Clear();
  std::vector<Outgoing> dropped;  // Destroyed outside the lock.
  MutexLock lock(&mutex_);
  delivering_ = false;
  all_read_ = !ok;
  if (side_ == Side::kClient && !ok) {
    StopLocked(&dropped);
  }
  if (stopped_ ? side_ == Side::kClient : wanted_) {
    ReadLocked();
  }
  wanted_ = false;
}

void StreamCore::WriteEnded(bool ok) {
  std::vector<Outgoing> done;  // Destroyed outside the lock.
  std::function<void()> finish;
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    done.push_back(std::move(outbox_.front()));
    outbox_.pop_front();
    if (!ok) {
      if (side_ == Side::kServer && !closing_) {
        final_status_ = absl::UnavailableError("the peer went away");
        peer_left_ = true;
      }
      StopLocked(&done);
    }
    if (!outbox_.empty()) {
      WriteLocked();
    } else {
      finish = FinishLocked();
    }
  }
  if (finish != nullptr) {
    finish();
  }
  if (ok && done.front().sent != nullptr) {
    if (absl::Status failed = Guarded(done.front().sent); !failed.ok()) {
      Close(std::move(failed));
    }
  }
}

absl::Status StreamCore::Detach() {
  std::deque<Outgoing> dropped;  // Destroyed outside the lock.
  MutexLock lock(&mutex_);
  closing_ = stopped_ = true;
  reactor_ = nullptr;
  dropped.swap(outbox_);
  return final_status_;
}

void StreamCore::ReadLocked() {
  if (!reading_ && !delivering_ && !all_read_) {
    reading_ = true;
    reactor_->Read(&incoming_);
  }
}

void StreamCore::WriteLocked() {
  writing_ = true;
  finished_ = outbox_.front().last;
  reactor_->Write(&outbox_.front().message, finished_);
}

void StreamCore::StopLocked(std::vector<Outgoing>* dropped) {
  closing_ = true;
  while (outbox_.size() > (writing_ ? 1U : 0U)) {
    dropped->push_back(std::move(outbox_.back()));
    outbox_.pop_back();
  }
  if (!std::exchange(stopped_, true) && side_ == Side::kClient) {
    // gRPC reports the end of a stream, even a cancelled one, only after all its messages have been read.
    ReadLocked();
    reactor_->Release();
  }
}

std::function<void()> StreamCore::FinishLocked() {
  if (!closing_ || writing_ || std::exchange(finished_, true)) {
    return nullptr;
  }
  if (side_ == Side::kServer) {
    return [reactor = reactor_, status = final_status_, left = peer_left_] { reactor->Finish(status, left); };
  }
  if (!stopped_) {
    reactor_->HalfClose();
  }
  return nullptr;
}

}  // namespace waggle
