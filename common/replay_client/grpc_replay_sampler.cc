#include "common/replay_client/grpc_replay_sampler.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/api/sampler_options.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/base/wait_clock.h"
#include "common/replay_client/batch_assembler.h"
#include "common/replay_client/replay_convert.h"
#include "common/rpc/channel.h"
#include "common/tensor/buffer_pool.h"

namespace waggle {
namespace {

constexpr char kMethod[] = "/waggle.v1.ReplayService/Sample";

using Peer = StreamPeer<Message<v1::SampleRequest>>;

}  // namespace

class GrpcReplaySampler::State : public std::enable_shared_from_this<State> {
 public:
  State(const ReplayLink& link, const ReplaySamplerOptions& options, std::shared_ptr<const BatchLayout> layout)
      : layout_(std::move(layout)),
        asks_ahead_(options.prefetch > 0),
        prefetch_(static_cast<size_t>(std::max<int64_t>(1, options.prefetch))),
        // One is being filled and one is in use beside those that are ready.
        pool_(layout_->total_bytes, prefetch_ + 2) {
    open_.mutable_open()->set_table(link.NameThere(options.table.name));
    open_.mutable_open()->set_batch_size(static_cast<uint32_t>(options.batch_size));
    open_.mutable_open()->set_sampler_id(options.sampler_id);
    open_.mutable_open()->set_compression(ToProto(options.compression));
  }

  const std::shared_ptr<const BatchLayout>& layout() const { return layout_; }
  BufferPool* pool() { return &pool_; }

  absl::StatusOr<SampledBatch> Next(const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_) {
    Ask();
    mutex_.Lock();
    if (ready_.empty() && failure_.ok()) {
      mutex_.Unlock();
      Await(stop);
      mutex_.Lock();
    }
    absl::StatusOr<SampledBatch> next = absl::CancelledError("stopped while waiting for a batch from replay");
    std::shared_ptr<Peer> peer;
    Message<v1::SampleRequest> request;
    if (!ready_.empty()) {  // Before a failure: these batches came before it.
      next = std::move(ready_.front());
      ready_.pop_front();
      ++stats_.batches;
      asked_ = false;
      // Several credits travel together: a message for each batch would cost as much as a small batch does.
      if (asks_ahead_ && peer_ != nullptr && ++owed_credits_ >= (prefetch_ + 1) / 2) {
        request.header.set_credits(std::exchange(owed_credits_, 0));
        peer = peer_;
      }
    } else if (!failure_.ok()) {
      next = failure_;
    }
    mutex_.Unlock();
    if (peer != nullptr) {
      peer->Send(std::move(request));
    }
    return next;
  }

  Stats stats() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    Stats stats = stats_;
    stats.waited = waiting_.total();
    stats.waiting = waiting_.waiting();
    return stats;
  }

  // Opens the stream, with credits for as many batches as there is room for.
  void Opening(const std::shared_ptr<Peer>& peer) ABSL_LOCKS_EXCLUDED(mutex_) {
    Message<v1::SampleRequest> request;
    request.header = open_;
    {
      MutexLock lock(&mutex_);
      // Sent with the lock held: a credit that Next gives must not come before.
      const size_t wanted = asks_ahead_ || asked_ ? prefetch_ : 0;
      request.header.set_credits(static_cast<uint32_t>(wanted - std::min(wanted, ready_.size())));
      owed_credits_ = 0;
      peer->Send(std::move(request));
      peer_ = peer;
    }
  }

  absl::Status Ready(SampledBatch batch) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (ready_.size() >= prefetch_) {
      return absl::InternalError("the server sent more batches than it was asked for");
    }
    ready_.push_back(std::move(batch));
    changed_.SignalAll();
    return absl::OkStatus();
  }

  void Closed() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    peer_ = nullptr;
  }

  void Fail(absl::Status failure) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (failure_.ok()) {
      failure_ = std::move(failure);
    }
    changed_.SignalAll();
  }

 private:
  // Asks for one batch where none is asked for ahead.
  void Ask() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<Peer> peer;
    {
      MutexLock lock(&mutex_);
      if (asks_ahead_ || std::exchange(asked_, true)) {
        return;
      }
      peer = peer_;  // Null: the stream asks as it opens.
    }
    if (peer != nullptr) {
      Message<v1::SampleRequest> request;
      request.header.set_credits(1);
      peer->Send(std::move(request));
    }
  }

  // Waits for a batch, a failure or a stop.
  void Await(const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_) {
    const StopToken::Callback wake(stop, [self = shared_from_this()] {
      MutexLock lock(&self->mutex_);
      self->changed_.SignalAll();
    });
    MutexLock lock(&mutex_);
    waiting_.Begin();
    while (ready_.empty() && failure_.ok() && !stop.StopRequested()) {
      changed_.Wait(&mutex_);
    }
    waiting_.End();
  }

  const std::shared_ptr<const BatchLayout> layout_;
  const bool asks_ahead_;
  const size_t prefetch_;  // At least 1.
  BufferPool pool_;
  v1::SampleRequest open_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<SampledBatch> ready_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Peer> peer_ ABSL_GUARDED_BY(mutex_);  // Of the current stream.
  uint32_t owed_credits_ ABSL_GUARDED_BY(mutex_) = 0;   // For batches that were taken, and not yet sent.
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;          // For one, by a Next that has not returned it.
  Stats stats_ ABSL_GUARDED_BY(mutex_);                 // But for the waits.
  WaitClock waiting_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

// One stream of the sampler.
class GrpcReplaySampler::Handler final : public StreamAttempt<Message<v1::SampleResponse>, Message<v1::SampleRequest>> {
 public:
  Handler(std::shared_ptr<State> state, StreamKeeper* keeper)
      : StreamAttempt(keeper), state_(std::move(state)), assembler_(state_->layout(), state_->pool()) {}

 private:
  void Begin() override { state_->Opening(peer()); }
  absl::Status Handle(Message<v1::SampleResponse> message) override {
    if (!is_open()) {
      if (!message.header.has_opened()) {
        return absl::InternalError("the server's first message on the stream is not `opened`");
      }
      WAGGLE_RETURN_IF_ERROR(CheckSameLayout(message.header.opened(), *state_->layout()));
      SetOpen();
      return absl::OkStatus();
    }
    WAGGLE_ASSIGN_OR_RETURN(std::optional<SampledBatch> batch, assembler_.Add(message.header, message.data));
    return batch.has_value() ? state_->Ready(*std::move(batch)) : absl::OkStatus();
  }
  void Failed(const absl::Status& failure) override { state_->Fail(failure); }
  void Closed() override { state_->Closed(); }

  const std::shared_ptr<State> state_;
  BatchAssembler assembler_;
};

absl::StatusOr<std::unique_ptr<ReplaySampler>> GrpcReplaySampler::Create(std::shared_ptr<ReplayLink> link,
                                                                         ReplaySamplerOptions options) {
  WAGGLE_RETURN_IF_ERROR(ValidateSamplerOptions(options));
  WAGGLE_ASSIGN_OR_RETURN(BatchLayout layout, MakeBatchLayout(options.table, options.batch_size,
                                                              static_cast<size_t>(options.max_batch_bytes)));
  return std::unique_ptr<ReplaySampler>(
      new GrpcReplaySampler(std::move(link), options, std::make_shared<const BatchLayout>(std::move(layout))));
}

GrpcReplaySampler::GrpcReplaySampler(std::shared_ptr<ReplayLink> link, const ReplaySamplerOptions& options,
                                     std::shared_ptr<const BatchLayout> layout)
    : link_(std::move(link)),
      state_(std::make_shared<State>(*link_, options, std::move(layout))),
      keeper_({
          absl::StrCat("sampling from replay at ", link_->address()),
          [this](StreamKeeper* keeper) {
            OpenClientStream<v1::SampleRequest, v1::SampleResponse>(
                NewChannel(link_->FindAgain(), "replay-sample", link_->keepalive()), kMethod,
                std::make_unique<Handler>(state_, keeper));
            return true;
          },
          [link = link_](const StopToken& stop) { return link->RestoreTables(stop); },
          [state = state_](absl::Status failure) { state->Fail(std::move(failure)); },
      }) {}

absl::StatusOr<SampledBatch> GrpcReplaySampler::Next(const StopToken& stop) {
  return state_->Next(stop);
}

ReplaySampler::Stats GrpcReplaySampler::stats() const {
  return state_->stats();
}

}  // namespace waggle
