#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/guard.h"
#include "common/base/threads/mutex.h"
#include "common/net/server_reactor.h"

namespace waggle {

// The messages of a server-streaming method. The next message is requested only when the transport has taken the last.
// So a slow reader costs one message, and changing values are skipped.
class WriteSource {
 public:
  virtual ~WriteSource() = default;

  // Called once, before the first Next. `wake` announces new messages. It may be called from any thread at any time,
  // also after the stream's end.
  virtual void OnOpen(std::function<void()> wake) = 0;

  struct Step {
    std::optional<grpc::ByteBuffer> message;  // To be sent.
    std::optional<absl::Status> end;          // Ends the stream, after the message if there is one.
    // Neither: Next is called again after a wake.
  };
  // Calls come one at a time. Must not block, and must not call `wake`.
  virtual Step Next() = 0;
};

class EndedSource final : public WriteSource {
 public:
  explicit EndedSource(absl::Status end) : end_(std::move(end)) {}
  void OnOpen(std::function<void()> /*wake*/) override {}
  Step Next() override { return {std::nullopt, end_}; }

 private:
  const absl::Status end_;
};

// Adapts a WriteSource to gRPC's callback API. The method returns `new WriteReactor(source)`, which deletes the source.
class WriteReactor final : public ServerReactor<grpc::ServerWriteReactor<grpc::ByteBuffer>> {
 public:
  explicit WriteReactor(std::unique_ptr<WriteSource> source, StreamRefused refused = nullptr)
      : ServerReactor(/*context=*/nullptr, std::move(refused)), pump_(std::make_shared<Pump>(core())) {
    source->OnOpen([pump = pump_] { pump->Run(/*sent=*/false); });
    pump_->SetSource(std::move(source));
    pump_->Run(/*sent=*/false);
  }
  ~WriteReactor() override { pump_->SetSource(nullptr); }

 private:
  // Moves messages from the source to the stream. Shared with `wake`.
  class Pump final : public std::enable_shared_from_this<Pump> {
   public:
    explicit Pump(std::shared_ptr<StreamCore> core) : core_(std::move(core)) {}

    void SetSource(std::unique_ptr<WriteSource> source) ABSL_LOCKS_EXCLUDED(mutex_) {
      MutexLock lock(&mutex_);
      source_.swap(source);  // Destroys the last source outside the lock.
    }

    void Run(bool sent) ABSL_LOCKS_EXCLUDED(mutex_) {
      WriteSource::Step step;
      {
        MutexLock lock(&mutex_);
        sending_ = sending_ && !sent;
        if (source_ == nullptr || sending_ || ended_) {
          return;
        }
        absl::Status failed = Guarded([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { step = source_->Next(); });
        if (!failed.ok()) {
          step.end = std::move(failed);
        }
        sending_ = step.message.has_value();
        ended_ = step.end.has_value();
      }
      if (step.message.has_value() && step.end == absl::OkStatus()) {
        core_->SendLast(*std::move(step.message));
        return;
      }
      if (step.message.has_value()) {
        core_->Send(*std::move(step.message), [self = shared_from_this()] { self->Run(/*sent=*/true); });
      }
      if (step.end.has_value()) {
        core_->Close(*std::move(step.end));
      }
    }

   private:
    const std::shared_ptr<StreamCore> core_;
    Mutex mutex_;
    std::unique_ptr<WriteSource> source_ ABSL_GUARDED_BY(mutex_);  // Null before the stream and after it.
    bool sending_ ABSL_GUARDED_BY(mutex_) = false;                 // The transport has a message.
    bool ended_ ABSL_GUARDED_BY(mutex_) = false;                   // The source has ended the stream.
  };

  void Read(grpc::ByteBuffer* /*message*/) override {}  // Never asked for.

  const std::shared_ptr<Pump> pump_;
};

}  // namespace waggle
