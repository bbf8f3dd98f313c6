#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/guard.h"
#include "common/base/mutex.h"
#include "common/rpc/stream_ending.h"

namespace waggle {

// What a server-streaming method sends. It is asked for a message only when the transport has taken the one before, so
// a slow reader costs one message, and a source of changing values skips what nobody has read.
class WriteSource {
 public:
  virtual ~WriteSource() = default;

  // Hands the source a way to say that it has something again; called once, before the first Next. `wake` may be called
  // from any thread at any time, also after the stream has ended.
  virtual void OnOpen(std::function<void()> wake) = 0;

  struct Step {
    std::optional<grpc::ByteBuffer> message;  // To be sent.
    std::optional<absl::Status> end;          // The stream ends with this, after the message if there is one.
    // Neither: there is nothing now; to be asked again after a wake.
  };
  // Calls arrive one at a time. It must not block, nor call `wake`.
  virtual Step Next() = 0;
};

// Sends nothing, and ends with this.
class EndedSource final : public WriteSource {
 public:
  explicit EndedSource(absl::Status end) : end_(std::move(end)) {}
  void OnOpen(std::function<void()> /*wake*/) override {}
  Step Next() override { return {std::nullopt, end_}; }

 private:
  const absl::Status end_;
};

// Adapts a WriteSource to a raw server-streaming method of gRPC's callback API: `new WriteReactor(source)` is what the
// method returns. The state lives in a Core that is shared with whoever holds the wake function; OnDone detaches it,
// and deletes the reactor.
class WriteReactor final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit WriteReactor(std::unique_ptr<WriteSource> source, StreamRefused refused = nullptr)
      : core_(std::make_shared<Core>(this, std::move(refused))) {
    WriteSource* const opened = source.get();
    opened->OnOpen([core = core_] { core->Pump(/*write_ended=*/false); });
    core_->Start(std::move(source));
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      core_->Pump(/*write_ended=*/true);
    } else {
      core_->PeerLeft(absl::UnavailableError("the peer went away"), /*write_ended=*/true);
    }
  }

  void OnCancel() override { core_->PeerLeft(absl::CancelledError("the stream was cancelled"), /*write_ended=*/false); }

  void OnDone() override {
    core_->Detach();
    delete this;
  }

 private:
  class Core {
   public:
    Core(WriteReactor* reactor, StreamRefused refused) : refused_(std::move(refused)), reactor_(reactor) {}

    void Start(std::unique_ptr<WriteSource> source) ABSL_LOCKS_EXCLUDED(mutex_) {
      std::optional<Ending> ending;
      {
        MutexLock lock(&mutex_);
        source_ = std::move(source);
        ending = PumpLocked();
      }
      FinishStream(ending, refused_);
    }

    void Pump(bool write_ended) ABSL_LOCKS_EXCLUDED(mutex_) {
      std::optional<Ending> ending;
      {
        MutexLock lock(&mutex_);
        if (write_ended) {
          writing_ = false;
        }
        ending = PumpLocked();
      }
      FinishStream(ending, refused_);
    }

    void PeerLeft(absl::Status status, bool write_ended) ABSL_LOCKS_EXCLUDED(mutex_) {
      std::optional<Ending> ending;
      {
        MutexLock lock(&mutex_);
        if (write_ended) {
          writing_ = false;
        }
        if (!end_.has_value()) {
          end_ = std::move(status);
          peer_left_ = true;
        }
        ending = PumpLocked();
      }
      FinishStream(ending, refused_);
    }

    void Detach() ABSL_LOCKS_EXCLUDED(mutex_) {
      std::unique_ptr<WriteSource> source;  // Destroyed outside the lock.
      MutexLock lock(&mutex_);
      reactor_ = nullptr;
      source = std::move(source_);
    }

   private:
    using Ending = StreamEnding<WriteReactor>;

    // Sends what there is. What it returns the stream ends with: for FinishStream.
    std::optional<Ending> PumpLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (reactor_ == nullptr || source_ == nullptr || writing_ || finished_) {
        return std::nullopt;
      }
      if (!end_.has_value()) {
        WriteSource::Step step;
        if (absl::Status failed = Guarded([this, &step]() ABSL_NO_THREAD_SAFETY_ANALYSIS { step = source_->Next(); });
            !failed.ok()) {
          step.end = std::move(failed);
        }
        if (step.message.has_value()) {
          outgoing_ = *std::move(step.message);
          writing_ = true;
          end_ = std::move(step.end);
          if (end_.has_value() && end_->ok()) {  // Both at once, which a reader of little notices.
            finished_ = true;
            reactor_->StartWriteAndFinish(&outgoing_, grpc::WriteOptions(), grpc::Status::OK);
          } else {
            reactor_->StartWrite(&outgoing_);
          }
          return std::nullopt;
        }
        end_ = std::move(step.end);
      }
      if (!end_.has_value()) {
        return std::nullopt;
      }
      finished_ = true;
      return Ending{reactor_, *end_, peer_left_};
    }

    const StreamRefused refused_;
    Mutex mutex_;
    WriteReactor* reactor_ ABSL_GUARDED_BY(mutex_);
    std::unique_ptr<WriteSource> source_ ABSL_GUARDED_BY(mutex_);
    grpc::ByteBuffer outgoing_ ABSL_GUARDED_BY(mutex_);
    std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);  // Set once there is nothing more to send.
    bool peer_left_ ABSL_GUARDED_BY(mutex_) = false;           // And that is why.
    bool writing_ ABSL_GUARDED_BY(mutex_) = false;
    bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  };

  const std::shared_ptr<Core> core_;
};

}  // namespace waggle
