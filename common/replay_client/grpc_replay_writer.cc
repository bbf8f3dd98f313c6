#include "common/replay_client/grpc_replay_writer.h"

#include <deque>
#include <functional>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/api/writer_options.h"
#include "common/base/deadline.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/base/wait_clock.h"
#include "common/replay_blocks/block_compression.h"
#include "common/replay_client/replay_convert.h"
#include "common/rpc/array_spec_convert.h"
#include "common/rpc/channel.h"
#include "common/rpc/client_stream.h"
#include "common/rpc/raw_codec.h"
#include "common/tensor/checksum.h"

namespace waggle {
namespace {

constexpr char kInsertMethod[] = "/waggle.v1.ReplayService/Insert";
constexpr absl::Duration kGoodbye = absl::Seconds(1);

}  // namespace

class GrpcReplayWriter::State : public std::enable_shared_from_this<State> {
 public:
  State(const ReplayLink& link, const ReplayWriterOptions& options, std::function<void()> changed)
      : on_changed_(std::move(changed)),
        max_blocks_(static_cast<size_t>(options.max_unacknowledged_blocks)),
        max_bytes_(static_cast<size_t>(options.max_unacknowledged_bytes)) {
    v1::InsertOpen* open = open_.mutable_open();
    open->set_writer_id(options.writer_id);
    std::random_device random;
    open->set_incarnation((static_cast<uint64_t>(random()) << 32) | random());
    for (const std::string& table : options.tables) {
      open->add_tables(link.NameThere(table));
    }
    for (const ArraySpec& column : options.signature) {
      *open->add_signature() = ToProto(column);
    }
  }

  const v1::InsertRequest& open() const { return open_; }

  // Without `stop` it does not wait for room.
  absl::Status Append(Message<v1::InsertRequest> message, const StopToken* stop) ABSL_LOCKS_EXCLUDED(mutex_) {
    Pending pending;
    pending.bytes = message.data.size() + message.header.ByteSizeLong();
    pending.message = std::make_shared<Message<v1::InsertRequest>>(std::move(message));
    {
      MutexLock lock(&mutex_);
      if (stop != nullptr && FullLocked(pending.bytes) && failure_.ok()) {
        WAGGLE_RETURN_IF_ERROR(AwaitRoomLocked(pending.bytes, *stop));
      }
      WAGGLE_RETURN_IF_ERROR(failure_);
      pending_bytes_ += pending.bytes;
      pending_.push_back(std::move(pending));
    }
    SendPending();
    return absl::OkStatus();
  }

  ShardWriter::State shard_state() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    ShardWriter::State state;
    state.connected = peer_ != nullptr;
    state.blocks = static_cast<int64_t>(pending_.size());
    state.bytes = static_cast<int64_t>(pending_bytes_);
    state.acknowledged = acknowledged_;
    state.items_inserted = stats_.items_inserted;
    state.items_without_rows = stats_.items_without_rows;
    state.failure = failure_;
    return state;
  }

  absl::Status Flush(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_) {
    const Deadline deadline(timeout);
    MutexLock lock(&mutex_);
    while (!pending_.empty() && failure_.ok()) {
      const absl::Duration left = deadline.Left();
      if (left == absl::ZeroDuration()) {
        return absl::DeadlineExceededError(absl::StrCat(pending_.size(),
                                                        pending_.size() == 1 ? " block is" : " blocks are",
                                                        " not acknowledged after ", absl::FormatDuration(timeout)));
      }
      changed_.WaitFor(&mutex_, left);
    }
    return failure_;
  }

  Stats stats() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    Stats stats = stats_;
    stats.waited = waiting_.total();
    stats.waiting = waiting_.waiting();
    return stats;
  }

  // If all blocks are acknowledged, waits a moment until the server has seen the stream's end. From then on another
  // writer may have the id.
  void SayGoodbye() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<RawStreamPeer> peer;
    {
      MutexLock lock(&mutex_);
      peer = pending_.empty() && failure_.ok() ? peer_ : nullptr;
    }
    if (peer != nullptr) {
      peer->Close(absl::OkStatus());
      const Deadline deadline(kGoodbye);
      MutexLock lock(&mutex_);
      while (peer_ == peer && deadline.Left() > absl::ZeroDuration()) {
        changed_.WaitFor(&mutex_, deadline.Left());
      }
    }
  }

  // Goes on with what the server has not applied, on this stream.
  absl::Status Opened(const v1::InsertOpened& opened, std::shared_ptr<RawStreamPeer> peer) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::deque<Pending> applied;  // Destroyed outside the lock.
    {
      MutexLock lock(&mutex_);
      const uint64_t sequence = opened.applied_sequence();
      // Compared without adding to what the server says: the largest number plus one is zero.
      if (sequence >= first_sequence_ + pending_.size()) {
        return absl::FailedPreconditionError(
            absl::StrCat("the server has applied ", sequence, " blocks of this writer, which sent ",
                         first_sequence_ + pending_.size() - 1, ": another writer uses its id"));
      }
      if (sequence < first_sequence_ - 1) {
        // It has lost what it had acknowledged, or some of that; the numbers go on from what it knows.
        first_sequence_ = sequence + 1;
        lost_.items_inserted = stats_.items_inserted - opened.items_inserted();
        lost_.items_without_rows = stats_.items_without_rows - opened.items_without_rows();
      }
      TakeAppliedLocked(sequence, opened.items_inserted(), opened.items_without_rows(), &applied);
      peer_ = std::move(peer);
      sent_ = 0;
      changed_.SignalAll();
    }
    SendPending();
    Changed();
    return absl::OkStatus();
  }

  absl::Status Acknowledged(const v1::InsertAck& ack) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::deque<Pending> applied;  // Destroyed outside the lock.
    {
      MutexLock lock(&mutex_);
      const uint64_t sequence = ack.applied_sequence();
      if (sequence >= first_sequence_ + pending_.size() || sequence < first_sequence_ - 1) {
        return absl::InternalError(absl::StrCat("the server acknowledged block ", sequence, "; blocks ",
                                                first_sequence_, " to ", first_sequence_ + pending_.size() - 1,
                                                " were to be"));
      }
      TakeAppliedLocked(sequence, ack.items_inserted(), ack.items_without_rows(), &applied);
      changed_.SignalAll();
    }
    Changed();
    return absl::OkStatus();
  }

  void Closed() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      peer_ = nullptr;
      changed_.SignalAll();
    }
    Changed();
  }

  void Fail(absl::Status failure) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      if (failure_.ok()) {
        failure_ = std::move(failure);
      }
      changed_.SignalAll();
    }
    Changed();
  }

 private:
  struct Pending {
    std::shared_ptr<Message<v1::InsertRequest>> message;  // Without its number, which only SendPending writes.
    size_t bytes = 0;
  };

  void Changed() {
    if (on_changed_) {
      on_changed_();
    }
  }

  // Sends what has not been sent on the current stream, in its order. Encoding and sending are outside the lock: of the
  // threads that have something to be sent one sends for all.
  void SendPending() ABSL_LOCKS_EXCLUDED(mutex_) {
    for (bool first = true;; first = false) {
      std::shared_ptr<Message<v1::InsertRequest>> message;
      std::shared_ptr<RawStreamPeer> peer;
      uint64_t sequence = 0;
      {
        MutexLock lock(&mutex_);
        if (first && sending_) {
          return;
        }
        sending_ = peer_ != nullptr && sent_ < pending_.size();
        if (!sending_) {
          return;
        }
        message = pending_[sent_].message;
        sequence = first_sequence_ + sent_;
        peer = peer_;
        ++sent_;
      }
      message->header.mutable_block()->set_sequence(sequence);
      peer->Send(EncodeMessage(*message));
    }
  }

  // The server has applied the blocks up to `sequence`; the counts are of all that it has applied of this writer.
  void TakeAppliedLocked(uint64_t sequence, uint64_t items_inserted, uint64_t items_without_rows,
                         std::deque<Pending>* applied) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (first_sequence_ <= sequence) {
      pending_bytes_ -= pending_.front().bytes;
      applied->push_back(std::move(pending_.front()));
      pending_.pop_front();
      ++first_sequence_;
      ++acknowledged_;
      sent_ -= sent_ > 0 ? 1 : 0;
    }
    stats_.items_inserted = lost_.items_inserted + items_inserted;
    stats_.items_without_rows = lost_.items_without_rows + items_without_rows;
  }

  bool FullLocked(size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !pending_.empty() && (pending_.size() >= max_blocks_ || pending_bytes_ + bytes > max_bytes_);
  }

  absl::Status AwaitRoomLocked(size_t bytes, const StopToken& stop) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    waiting_.Begin();
    mutex_.Unlock();
    absl::Status status;
    {
      // Outside the lock: it may call at once.
      const StopToken::Callback wake(stop, [self = shared_from_this()] {
        MutexLock lock(&self->mutex_);
        self->changed_.SignalAll();
      });
      MutexLock lock(&mutex_);
      while (FullLocked(bytes) && failure_.ok() && !stop.StopRequested()) {
        changed_.Wait(&mutex_);
      }
      if (stop.StopRequested() && FullLocked(bytes)) {
        status = absl::CancelledError("stopped while waiting for room in replay");
      }
    }
    mutex_.Lock();
    waiting_.End();
    return status;
  }

  const std::function<void()> on_changed_;
  const size_t max_blocks_;
  const size_t max_bytes_;
  v1::InsertRequest open_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);  // Not acknowledged, in their order.
  size_t pending_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;            // Blocks, ever.
  uint64_t first_sequence_ ABSL_GUARDED_BY(mutex_) = 1;          // Of pending_'s first, or of the next to come.
  std::shared_ptr<RawStreamPeer> peer_ ABSL_GUARDED_BY(mutex_);  // Of the current stream, once it is open.
  size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;                      // Of pending_, on peer_.
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;                 // A thread is in SendPending.
  Stats stats_ ABSL_GUARDED_BY(mutex_);                          // But for the waits.
  Stats lost_ ABSL_GUARDED_BY(mutex_);                           // Of what servers counted that have lost it since.
  WaitClock waiting_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

// One stream of the writer.
class GrpcReplayWriter::Handler final : public StreamAttempt<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Handler(std::shared_ptr<State> state, StreamKeeper* keeper) : StreamAttempt(keeper), state_(std::move(state)) {}

 private:
  void Begin() override { peer()->Send(EncodeMessage(state_->open(), ByteSlices())); }
  absl::Status Handle(grpc::ByteBuffer buffer) override {
    v1::InsertResponse response;
    ByteSlices data;
    WAGGLE_RETURN_IF_ERROR(DecodeMessage(buffer, kMaxHeaderBytes, &response, &data));
    if (response.has_opened() != !is_open() || response.has_ack() != is_open()) {
      return absl::InternalError("the server's messages on the stream are not those of an insertion");
    }
    if (is_open()) {
      return state_->Acknowledged(response.ack());
    }
    SetOpen();
    return state_->Opened(response.opened(), peer());
  }
  void Failed(const absl::Status& failure) override { state_->Fail(failure); }
  void Closed() override { state_->Closed(); }

  const std::shared_ptr<State> state_;
};

absl::StatusOr<std::unique_ptr<GrpcReplayWriter>> GrpcReplayWriter::Create(std::shared_ptr<ReplayLink> link,
                                                                           ReplayWriterOptions options,
                                                                           std::function<void()> changed) {
  WAGGLE_RETURN_IF_ERROR(ValidateWriterOptions(options));
  return std::unique_ptr<GrpcReplayWriter>(
      new GrpcReplayWriter(std::move(link), std::move(options), std::move(changed)));
}

GrpcReplayWriter::GrpcReplayWriter(std::shared_ptr<ReplayLink> link, ReplayWriterOptions options,
                                   std::function<void()> changed)
    : link_(std::move(link)),
      signature_(options.signature),
      codecs_(ColumnCodecs(options.signature, options.compression)),
      state_(std::make_shared<State>(*link_, options, std::move(changed))),
      keeper_({
          absl::StrCat("writing to replay at ", link_->address()),
          [this](StreamKeeper* keeper) {
            OpenRawClientStream(NewChannel(link_->FindAgain(), "replay-insert", link_->keepalive()), kInsertMethod,
                                std::make_unique<Handler>(state_, keeper));
            return true;
          },
          [link = link_](const StopToken& stop) { return link->RestoreTables(stop); },
          [state = state_](absl::Status failure) { state->Fail(std::move(failure)); },
          [state = state_] { state->SayGoodbye(); },
      }) {}

absl::Status GrpcReplayWriter::Append(InsertBlock block, const StopToken& stop) {
  return Append(std::move(block), &stop);
}

absl::Status GrpcReplayWriter::Offer(InsertBlock block) {
  return Append(std::move(block), nullptr);
}

absl::Status GrpcReplayWriter::Append(InsertBlock block, const StopToken* stop) {
  Message<v1::InsertRequest> message;
  WAGGLE_RETURN_IF_ERROR(CompressBlock(signature_, codecs_, &block));
  block.checksum = Checksum(block.data);
  *message.header.mutable_block() = ToProto(block);
  message.data = std::move(block.data);
  const size_t header_bytes = message.header.ByteSizeLong();
  constexpr size_t kSlack = 64;  // The sequence number, and the tag and length of the data.
  if (header_bytes + kSlack > kMaxHeaderBytes || message.data.size() + header_bytes + kSlack > kMaxMessageBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a block of ", message.data.size(), " bytes of rows and ",
                                                   header_bytes, " bytes about them is too large: at most ",
                                                   kMaxHeaderBytes, " about them and ", kMaxMessageBytes,
                                                   " in all can be sent"));
  }
  return state_->Append(std::move(message), stop);
}

absl::Status GrpcReplayWriter::Flush(absl::Duration timeout) {
  return state_->Flush(timeout);
}

ReplayWriter::Stats GrpcReplayWriter::stats() const {
  return state_->stats();
}

ShardWriter::State GrpcReplayWriter::state() const {
  return state_->shard_state();
}

}  // namespace waggle
