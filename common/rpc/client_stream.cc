#include "common/rpc/client_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <deque>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "common/base/guard.h"
#include "common/base/mutex.h"
#include "common/rpc/status_convert.h"

namespace waggle {
namespace {

// Deletes itself when the stream has ended. The state lives in a Core that is shared with whoever holds the peer.
class ClientReactor final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  ClientReactor(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                std::unique_ptr<RawClientStreamHandler> handler)
      : handler_(std::move(handler)), core_(std::make_shared<Core>(this)) {
    grpc::GenericStub(channel).PrepareBidiStreamingCall(&context_, method, grpc::StubOptions(), this);
    AddHold();  // Reads and writes are started from outside the reactions as well.
    handler_->OnOpen(core_);
    core_->RequestNext();
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!core_->DeliveryStarted(/*more=*/ok)) {
      incoming_.Clear();
      core_->DeliveryEnded(/*more=*/ok);
      return;
    }
    absl::Status failed = Guarded([this, ok] {
      if (ok) {
        grpc::ByteBuffer message;
        message.Swap(&incoming_);
        handler_->OnMessage(std::move(message));
      } else {
        handler_->OnPeerDone();
      }
    });
    if (!failed.ok()) {
      core_->Close(std::move(failed));
    }
    core_->DeliveryEnded(/*more=*/ok);
  }

  void OnWriteDone(bool ok) override { core_->WriteEnded(ok); }

  void OnDone(const grpc::Status& status) override {
    const std::optional<absl::Status> own = core_->Detach();
    handler_->OnClosed(own.has_value() ? *own : FromGrpcStatus(status));
    delete this;
  }

 private:
  class Core final : public RawStreamPeer {
   public:
    explicit Core(ClientReactor* reactor) : reactor_(reactor) {}

    void Send(grpc::ByteBuffer message, std::function<void()> sent) override ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      if (ended_ || half_closed_) {
        return;
      }
      outbox_.emplace_back(std::move(message), std::move(sent));
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

    void Close(absl::Status status) override ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      if (ended_) {
        return;
      }
      if (status.ok()) {
        if (!std::exchange(half_closed_, true) && !writing_) {
          reactor_->StartWritesDone();
        }
        return;
      }
      closed_with_ = std::move(status);
      reactor_->context_.TryCancel();
      EndLocked();
    }

    // Whether the handler is to have it: no messages after the end.
    bool DeliveryStarted(bool more) ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      reading_ = false;
      delivering_ = true;
      return !ended_ || !more;
    }

    void DeliveryEnded(bool more) ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      delivering_ = false;
      all_read_ = !more;
      if (!more) {
        EndLocked();
      } else if (ended_) {
        DrainLocked();
      } else if (std::exchange(wanted_, false)) {
        StartReadLocked();
      }
    }

    void WriteEnded(bool ok) ABSL_LOCKS_EXCLUDED(mutex_) {
      Outgoing written;  // Destroyed outside the lock.
      {
        MutexLock lock(&mutex_);
        writing_ = false;
        written = std::move(outbox_.front());
        outbox_.pop_front();
        if (!ok) {
          EndLocked();
        } else if (!ended_) {
          if (!outbox_.empty()) {
            StartWriteLocked();
          } else if (half_closed_) {
            reactor_->StartWritesDone();
          }
        }
      }
      if (ok && written.second != nullptr) {
        if (absl::Status failed = Guarded(written.second); !failed.ok()) {
          Close(std::move(failed));
        }
      }
    }

    // Returns the status with which our own side cancelled the stream, if it did.
    std::optional<absl::Status> Detach() ABSL_LOCKS_EXCLUDED(mutex_) {
      std::deque<Outgoing> dropped;  // Destroyed outside the lock.
      MutexLock lock(&mutex_);
      ended_ = true;
      reactor_ = nullptr;
      dropped.swap(outbox_);
      return closed_with_;
    }

   private:
    using Outgoing = std::pair<grpc::ByteBuffer, std::function<void()>>;

    void StartReadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (ended_ || reading_) {
        return;
      }
      reading_ = true;
      reactor_->StartRead(&reactor_->incoming_);
    }

    void StartWriteLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      writing_ = true;
      reactor_->StartWrite(&outbox_.front().first);
    }

    // From here on nothing may be started but what drains it; with the hold gone, OnDone comes after what is
    // outstanding.
    void EndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (!std::exchange(ended_, true)) {
        DrainLocked();
        reactor_->RemoveHold();
      }
    }

    // Of a stream that the server has ended gRPC does not tell the end, not even where it is cancelled, until all
    // messages before it are read.
    void DrainLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (!reading_ && !delivering_ && !all_read_) {
        reading_ = true;
        reactor_->StartRead(&reactor_->incoming_);
      }
    }

    Mutex mutex_;
    ClientReactor* reactor_ ABSL_GUARDED_BY(mutex_);
    std::deque<Outgoing> outbox_ ABSL_GUARDED_BY(mutex_);
    std::optional<absl::Status> closed_with_ ABSL_GUARDED_BY(mutex_);
    bool reading_ ABSL_GUARDED_BY(mutex_) = false;     // A StartRead is outstanding.
    bool delivering_ ABSL_GUARDED_BY(mutex_) = false;  // The handler holds a message.
    bool wanted_ ABSL_GUARDED_BY(mutex_) = false;      // It asked for the next one meanwhile.
    bool all_read_ ABSL_GUARDED_BY(mutex_) = false;    // No more will come.
    bool writing_ ABSL_GUARDED_BY(mutex_) = false;
    bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
    bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  };

  grpc::ClientContext context_;
  const std::unique_ptr<RawClientStreamHandler> handler_;
  grpc::ByteBuffer incoming_;
  const std::shared_ptr<Core> core_;
};

}  // namespace

void OpenRawClientStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                         std::unique_ptr<RawClientStreamHandler> handler) {
  new ClientReactor(channel, method, std::move(handler));  // Deletes itself in OnDone.
}

}  // namespace waggle
