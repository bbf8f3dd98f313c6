#include "common/replay/grpc_shard_sampler.h"

#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/buffer_pool.h"
#include "common/base/threads/mutex.h"
#include "common/net/channel.h"
#include "common/replay/batch_assembler.h"
#include "common/replay/replay_convert.h"

namespace waggle {
namespace {

constexpr char kShardSampleMethod[] = "/waggle.v1.ReplayService/Sample";

using Peer = StreamPeer<Message<v1::SampleRequest>>;

}  // namespace

class GrpcShardSampler::State {
 public:
  State(const ReplayLink& link, const ReplaySamplerOptions& options, BatchLayout layout)
      : options_(options),
        name_there_(link.NameThere(options.table.name)),
        layout_(std::move(layout)),
        // Besides the ready batches, one is being filled and one is in use.
        pool_(layout_.total_bytes, static_cast<size_t>(options.prefetch) + 2) {}

  const ReplaySamplerOptions& options() const { return options_; }
  const BatchLayout& layout() const { return layout_; }
  BufferPool* pool() { return &pool_; }

  void Ask(absl::Span<const ShardAsk> asks) ABSL_LOCKS_EXCLUDED(mutex_) {
    Message<v1::SampleRequest> request;
    for (const ShardAsk& ask : asks) {
      request.header.add_draw_items(ask.items);
      request.header.add_draw_counted(ask.counted);
      request.header.set_waits_for(ask.waits_for);
    }
    MutexLock lock(&mutex_);
    if (opened_ != nullptr) {
      opened_->Send(std::move(request));
    }
  }

  void Opening(const std::shared_ptr<Peer>& peer) {
    Message<v1::SampleRequest> request;
    request.header.mutable_open()->set_table(name_there_);
    request.header.mutable_open()->set_batch_size(static_cast<uint32_t>(options_.batch_size));
    request.header.mutable_open()->set_sampler_id(options_.sampler_id);
    request.header.mutable_open()->set_compression(ToProto(options_.compression));
    peer->Send(std::move(request));
  }

  void Opened(std::shared_ptr<Peer> peer) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    opened_ = std::move(peer);
  }

  void Closed() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    opened_ = nullptr;
  }

 private:
  const ReplaySamplerOptions options_;
  const std::string name_there_;  // The table's name at the server.
  const BatchLayout layout_;      // The layout of a whole batch.
  BufferPool pool_;
  Mutex mutex_;
  std::shared_ptr<Peer> opened_ ABSL_GUARDED_BY(mutex_);  // The current stream's, after the server's first answer.
};

class GrpcShardSampler::Handler final : public StreamAttempt<Message<v1::SampleResponse>, Message<v1::SampleRequest>> {
 public:
  Handler(size_t shard, std::shared_ptr<ShardSampleReceiver> receiver, std::shared_ptr<State> state,
          StreamKeeper* keeper)
      : StreamAttempt(keeper),
        shard_(shard),
        receiver_(std::move(receiver)),
        state_(std::move(state)),
        assembler_([this](uint32_t items) { return LayoutOf(items); }, state_->pool()) {}

 private:
  void Begin() override { state_->Opening(peer()); }
  absl::Status Handle(Message<v1::SampleResponse> message) override {
    if (!is_open()) {
      if (!message.header.has_opened()) {
        return absl::InternalError("the server's first message on the stream is not `opened`");
      }
      WAGGLE_RETURN_IF_ERROR(CheckSameLayout(message.header.opened(), state_->layout()));
      SetOpen();
      state_->Opened(peer());
      receiver_->Opened(shard_);
      return absl::OkStatus();
    }
    WAGGLE_ASSIGN_OR_RETURN(std::optional<SampledBatch> batch, assembler_.Add(message.header, message.data));
    if (!batch.has_value()) {
      receiver_->Heard(shard_);
      return absl::OkStatus();
    }
    return receiver_->Answered(shard_, *std::move(batch));
  }
  void Closed() override {
    state_->Closed();
    if (is_open()) {
      receiver_->Closed(shard_);
    }
  }

  // Keeps the last layout, because successive parts often have the same size.
  absl::StatusOr<std::shared_ptr<const BatchLayout>> LayoutOf(uint32_t items) {
    if (items == 0) {
      return std::make_shared<const BatchLayout>();
    }
    if (items > state_->options().batch_size) {
      return absl::InternalError(absl::StrCat("the server sent a batch of ", items,
                                              " items; the stream was opened for ", state_->options().batch_size));
    }
    if (items != last_items_) {
      WAGGLE_ASSIGN_OR_RETURN(BatchLayout layout,
                              MakeBatchLayout(state_->options().table, items, state_->layout().total_bytes));
      last_layout_ = std::make_shared<const BatchLayout>(std::move(layout));
      last_items_ = items;
    }
    return last_layout_;
  }

  const size_t shard_;
  const std::shared_ptr<ShardSampleReceiver> receiver_;
  const std::shared_ptr<State> state_;
  BatchAssembler assembler_;
  uint32_t last_items_ = 0;
  std::shared_ptr<const BatchLayout> last_layout_;
};

absl::StatusOr<std::unique_ptr<ShardSampler>> GrpcShardSampler::Create(std::shared_ptr<ReplayLink> link,
                                                                       const ReplaySamplerOptions& options,
                                                                       size_t shard,
                                                                       std::shared_ptr<ShardSampleReceiver> receiver) {
  WAGGLE_ASSIGN_OR_RETURN(BatchLayout layout, MakeBatchLayout(options.table, options.batch_size,
                                                              static_cast<size_t>(options.max_batch_bytes)));
  auto state = std::make_shared<State>(*link, options, std::move(layout));
  return std::unique_ptr<ShardSampler>(
      new GrpcShardSampler(std::move(link), std::move(state), shard, std::move(receiver)));
}

GrpcShardSampler::GrpcShardSampler(std::shared_ptr<ReplayLink> link, std::shared_ptr<State> state, size_t shard,
                                   std::shared_ptr<ShardSampleReceiver> receiver)
    : link_(std::move(link)),
      state_(std::move(state)),
      keeper_({
          absl::StrCat("sampling from replay at ", link_->address()),
          [this, shard, receiver](StreamKeeper* keeper) {
            OpenClientStream<v1::SampleRequest, v1::SampleResponse>(
                NewChannel(link_->FindAgain(), "replay-sample", link_->keepalive()), kShardSampleMethod,
                std::make_unique<Handler>(shard, receiver, state_, keeper));
            return true;
          },
          [link = link_](const StopToken& stop) { return link->RestoreTables(stop); },
          [shard, receiver](absl::Status failure) { receiver->Failed(shard, std::move(failure)); },
      }) {}

void GrpcShardSampler::Ask(absl::Span<const ShardAsk> asks) {
  state_->Ask(asks);
}

}  // namespace waggle
