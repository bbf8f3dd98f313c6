#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/base/guard.h"
#include "common/base/mutex.h"
#include "common/rpc/raw_codec.h"
#include "common/rpc/stream_ending.h"
#include "common/rpc/stream_handler.h"

namespace waggle {

// Adapts a StreamHandler to a raw bidirectional method of gRPC's callback API: `new BidiReactor<Request, Response>(
// context, handler)` is what the method returns. The state lives in a Core that is shared with whoever holds the
// StreamPeer; OnDone detaches it, and deletes the reactor and with it the handler.
template <class Request, class Response>
class BidiReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  using Handler = StreamHandler<Message<Request>, Message<Response>>;
  // A message that has more than `max_header_bytes` beside its data ends the stream.
  BidiReactor(grpc::CallbackServerContext* context, std::unique_ptr<Handler> handler, StreamRefused refused = nullptr,
              size_t max_header_bytes = kMaxHeaderBytes)
      : max_header_bytes_(max_header_bytes),
        handler_(std::move(handler)),
        core_(std::make_shared<Core>(context, this, std::move(refused))) {
    handler_->OnOpen(core_);
    core_->RequestNext();
  }

  void OnReadDone(bool ok) override {
    core_->DeliveryStarted();
    absl::Status failed = Guarded([this, ok] {
      if (!ok) {
        handler_->OnPeerDone();
        return;
      }
      Message<Request> message;
      absl::Status status = DecodeMessage(incoming_, max_header_bytes_, &message.header, &message.data);
      incoming_.Clear();
      if (status.ok()) {
        handler_->OnMessage(std::move(message));
      } else {
        core_->Close(std::move(status));
      }
    });
    if (!failed.ok()) {
      core_->Close(std::move(failed));
    }
    core_->DeliveryEnded(/*more=*/ok);
  }

  void OnWriteDone(bool ok) override { core_->WriteEnded(ok); }
  void OnCancel() override { core_->PeerLeft(absl::CancelledError("the stream was cancelled")); }
  void OnDone() override {
    core_->Detach();
    delete this;
  }

 private:
  class Core final : public StreamPeer<Message<Response>> {
   public:
    Core(grpc::CallbackServerContext* context, BidiReactor* reactor, StreamRefused refused)
        : refused_(std::move(refused)), context_(context), reactor_(reactor) {}

    void Send(Message<Response> message, std::function<void()> sent) override ABSL_LOCKS_EXCLUDED(mutex_) {
      grpc::ByteBuffer encoded = EncodeMessage(message);
      MutexLock lock(&mutex_);
      if (reactor_ == nullptr || closing_) {
        return;
      }
      outbox_.emplace_back(std::move(encoded), std::move(sent));
      if (!writing_) {
        StartWriteLocked();
      }
    }

    void RequestNext() override ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      if (delivering_) {
        wanted_ = true;  // Started by DeliveryEnded, so that messages never overlap.
      } else {
        StartReadLocked();
      }
    }

    void Close(absl::Status status) override ABSL_LOCKS_EXCLUDED(mutex_) { Close(std::move(status), false); }
    void Abort(absl::Status status) override ABSL_LOCKS_EXCLUDED(mutex_) {
      Close(std::move(status), false);
      MutexLock lock(&mutex_);
      if (reactor_ != nullptr && writing_) {
        context_->TryCancel();  // What is being written is dropped, and OnWriteDone comes.
      }
    }
    void PeerLeft(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_) { Close(std::move(status), true); }

    void DeliveryStarted() ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      reading_ = false;
      delivering_ = true;
    }

    void DeliveryEnded(bool more) ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      delivering_ = false;
      if (std::exchange(wanted_, false) && more) {
        StartReadLocked();
      }
    }

    void WriteEnded(bool ok) ABSL_LOCKS_EXCLUDED(mutex_) {
      std::function<void()> sent;
      std::deque<Outgoing> dropped;  // Destroyed outside the lock.
      std::optional<Ending> ending;
      {
        MutexLock lock(&mutex_);
        writing_ = false;
        sent = std::move(outbox_.front().second);
        outbox_.pop_front();
        if (!ok) {
          if (!closing_) {
            closing_ = true;
            peer_left_ = true;
            final_status_ = absl::UnavailableError("the peer went away");
          }
          dropped.swap(outbox_);
        }
        if (!outbox_.empty()) {
          StartWriteLocked();
        } else {
          ending = MaybeEndLocked();
        }
      }
      FinishStream(ending, refused_);
      if (ok && sent != nullptr) {
        if (absl::Status failed = Guarded(sent); !failed.ok()) {
          Close(std::move(failed));
        }
      }
    }

    void Detach() ABSL_LOCKS_EXCLUDED(mutex_) {
      std::deque<Outgoing> dropped;  // Destroyed outside the lock.
      MutexLock lock(&mutex_);
      reactor_ = nullptr;
      dropped.swap(outbox_);
    }

   private:
    using Outgoing = std::pair<grpc::ByteBuffer, std::function<void()>>;
    using Ending = StreamEnding<BidiReactor>;

    void Close(absl::Status status, bool peer_left) ABSL_LOCKS_EXCLUDED(mutex_) {
      std::deque<Outgoing> dropped;  // Destroyed outside the lock.
      std::optional<Ending> ending;
      {
        MutexLock lock(&mutex_);
        if (reactor_ == nullptr || closing_) {
          return;
        }
        closing_ = true;
        peer_left_ = peer_left;
        final_status_ = std::move(status);
        while (!final_status_.ok() && outbox_.size() > (writing_ ? 1U : 0U)) {
          dropped.push_back(std::move(outbox_.back()));
          outbox_.pop_back();
        }
        ending = MaybeEndLocked();
      }
      FinishStream(ending, refused_);
    }

    void StartReadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (reactor_ == nullptr || closing_ || reading_) {
        return;
      }
      reading_ = true;
      reactor_->StartRead(&reactor_->incoming_);
    }

    void StartWriteLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      writing_ = true;
      reactor_->StartWrite(&outbox_.front().first);
    }

    // What the stream ends with, where its time has come: for FinishStream.
    std::optional<Ending> MaybeEndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (reactor_ == nullptr || !closing_ || writing_ || finished_) {
        return std::nullopt;
      }
      finished_ = true;
      return Ending{reactor_, final_status_, peer_left_};
    }

    const StreamRefused refused_;
    Mutex mutex_;
    grpc::CallbackServerContext* const context_;  // There as long as the reactor is.
    BidiReactor* reactor_ ABSL_GUARDED_BY(mutex_);
    std::deque<Outgoing> outbox_ ABSL_GUARDED_BY(mutex_);
    absl::Status final_status_ ABSL_GUARDED_BY(mutex_);
    bool reading_ ABSL_GUARDED_BY(mutex_) = false;     // A StartRead is outstanding.
    bool delivering_ ABSL_GUARDED_BY(mutex_) = false;  // The handler holds a message.
    bool wanted_ ABSL_GUARDED_BY(mutex_) = false;      // It asked for the next one meanwhile.
    bool writing_ ABSL_GUARDED_BY(mutex_) = false;
    bool closing_ ABSL_GUARDED_BY(mutex_) = false;
    bool peer_left_ ABSL_GUARDED_BY(mutex_) = false;  // And that is why.
    bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  };

  const size_t max_header_bytes_;
  const std::unique_ptr<Handler> handler_;
  grpc::ByteBuffer incoming_;
  const std::shared_ptr<Core> core_;
};

}  // namespace waggle
