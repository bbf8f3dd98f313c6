#include "common/replay/grpc_shard_writer.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/deadline.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "common/base/threads/mutex.h"
#include "common/net/array_spec_convert.h"
#include "common/net/channel.h"
#include "common/net/client_stream.h"
#include "common/net/raw_codec.h"
#include "common/replay/blocks/block_compression.h"
#include "common/replay/replay_convert.h"

namespace waggle {
namespace {

constexpr char kInsertMethod[] = "/waggle.v1.ReplayService/Insert";
constexpr absl::Duration kGoodbye = absl::Seconds(1);

}  // namespace

// The unacknowledged blocks.
class GrpcShardWriter::Blocks {
 public:
  Blocks(const ReplayLink& link, const ReplayWriterOptions& options, std::function<void()> changed)
      : on_changed_(std::move(changed)), repeats_(options.repeats.has_value()) {
    v1::InsertOpen* open = open_.mutable_open();
    // An id that is not random must differ from those of other experiments on the same server.
    open->set_writer_id(options.repeats.has_value() ? link.NameThere(options.writer_id) : options.writer_id);
    std::random_device random;
    open->set_incarnation(options.repeats.value_or((static_cast<uint64_t>(random()) << 32) | random()));
    for (const std::string& table : options.tables) {
      open->add_tables(link.NameThere(table));
    }
    for (const ArraySpec& column : options.signature) {
      *open->add_signature() = ToProto(column);
    }
  }

  const v1::InsertRequest& open() const { return open_; }

  absl::Status Add(Message<v1::InsertRequest> message) ABSL_LOCKS_EXCLUDED(mutex_) {
    Pending pending;
    pending.bytes = message.data.size() + message.header.ByteSizeLong();
    pending.message = std::make_shared<Message<v1::InsertRequest>>(std::move(message));
    {
      MutexLock lock(&mutex_);
      WAGGLE_RETURN_IF_ERROR(failure_);
      pending_bytes_ += pending.bytes;
      pending_.push_back(std::move(pending));
    }
    SendPending();
    return absl::OkStatus();
  }

  State state() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    State state;
    state.connected = peer_ != nullptr;
    state.blocks = static_cast<int64_t>(pending_.size());
    state.bytes = static_cast<int64_t>(pending_bytes_);
    state.acknowledged = acknowledged_;
    state.items_inserted = items_inserted_;
    state.items_without_rows = items_without_rows_;
    state.failure = failure_;
    return state;
  }

  // If all blocks are acknowledged, ends the stream and waits up to kGoodbye until the server has closed it, so that
  // another writer may have the id.
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
        closed_.WaitFor(&mutex_, deadline.Left());
      }
    }
  }

  // Sends the blocks that the server has not applied on this stream.
  absl::Status Opened(const v1::InsertOpened& opened, std::shared_ptr<RawStreamPeer> peer) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::deque<Pending> applied;  // Destroyed outside the lock.
    {
      MutexLock lock(&mutex_);
      const uint64_t sequence = OfThisWriterLocked(opened.applied_sequence());
      // The sum must not overflow, so nothing is added to the server's number.
      if (sequence >= first_sequence_ + pending_.size()) {
        return absl::FailedPreconditionError(
            absl::StrCat("the server has applied ", sequence, " blocks of this writer, which sent ",
                         first_sequence_ + pending_.size() - 1, ": another writer uses its id"));
      }
      if (sequence < first_sequence_ - 1) {
        // The server has lost acknowledged blocks. The numbers continue from its last one.
        first_sequence_ = sequence + 1;
        lost_inserted_ = items_inserted_ - opened.items_inserted();
        lost_without_rows_ = items_without_rows_ - opened.items_without_rows();
      }
      TakeAppliedLocked(sequence, opened.items_inserted(), opened.items_without_rows(), &applied);
      peer_ = std::move(peer);
      sent_ = 0;
    }
    SendPending();
    on_changed_();
    return absl::OkStatus();
  }

  absl::Status Acknowledged(const v1::InsertAck& ack) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::deque<Pending> applied;  // Destroyed outside the lock.
    {
      MutexLock lock(&mutex_);
      const uint64_t sequence = OfThisWriterLocked(ack.applied_sequence());
      if (sequence >= first_sequence_ + pending_.size() || sequence < first_sequence_ - 1) {
        return absl::InternalError(absl::StrCat("the server acknowledged block ", sequence, "; blocks ",
                                                first_sequence_, " to ", first_sequence_ + pending_.size() - 1,
                                                " are unacknowledged"));
      }
      TakeAppliedLocked(sequence, ack.items_inserted(), ack.items_without_rows(), &applied);
    }
    on_changed_();
    return absl::OkStatus();
  }

  void Closed() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      peer_ = nullptr;
      closed_.SignalAll();
    }
    on_changed_();
  }

  void Fail(absl::Status failure) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      if (failure_.ok()) {
        failure_ = std::move(failure);
      }
    }
    on_changed_();
  }

 private:
  struct Pending {
    std::shared_ptr<Message<v1::InsertRequest>> message;  // SendPending sets its number.
    size_t bytes = 0;
  };

  // Sends the unsent blocks in order. Encodes and sends without the lock, so one thread sends for all.
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

  // The last applied block, of those that this writer has made.
  uint64_t OfThisWriterLocked(uint64_t applied) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return repeats_ ? std::min(applied, first_sequence_ + pending_.size() - 1) : applied;
  }

  // Removes the blocks up to `sequence`, which are applied. The counts are the server's totals for this writer.
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
    items_inserted_ = lost_inserted_ + items_inserted;
    items_without_rows_ = lost_without_rows_ + items_without_rows;
  }

  const std::function<void()> on_changed_;
  const bool repeats_;  // The server may have applied blocks that this writer has not made yet.
  v1::InsertRequest open_;
  mutable Mutex mutex_;
  CondVar closed_;
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);  // Unacknowledged, in order.
  size_t pending_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;    // Blocks, in total.
  uint64_t first_sequence_ ABSL_GUARDED_BY(mutex_) = 1;  // The number of the first pending block, or of the next one.
  std::shared_ptr<RawStreamPeer> peer_ ABSL_GUARDED_BY(mutex_);  // The current stream's, once it is open.
  size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;                      // Pending blocks sent to peer_.
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;                 // A thread is in SendPending.
  uint64_t items_inserted_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t items_without_rows_ ABSL_GUARDED_BY(mutex_) = 0;
  // Counts of servers that have lost them since.
  uint64_t lost_inserted_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lost_without_rows_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

class GrpcShardWriter::Handler final : public StreamAttempt<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Handler(std::shared_ptr<Blocks> blocks, StreamKeeper* keeper) : StreamAttempt(keeper), blocks_(std::move(blocks)) {}

 private:
  void Begin() override { peer()->Send(EncodeMessage(blocks_->open(), ByteSlices())); }
  absl::Status Handle(grpc::ByteBuffer buffer) override {
    v1::InsertResponse response;
    ByteSlices data;
    WAGGLE_RETURN_IF_ERROR(DecodeMessage(buffer, kMaxHeaderBytes, &response, &data));
    if (response.has_opened() != !is_open() || response.has_ack() != is_open()) {
      return absl::InternalError("the server sent another message; wanted `opened` first, then `ack`");
    }
    if (is_open()) {
      return blocks_->Acknowledged(response.ack());
    }
    SetOpen();
    return blocks_->Opened(response.opened(), peer());
  }
  void Failed(const absl::Status& failure) override { blocks_->Fail(failure); }
  void Closed() override { blocks_->Closed(); }

  const std::shared_ptr<Blocks> blocks_;
};

GrpcShardWriter::GrpcShardWriter(std::shared_ptr<ReplayLink> link, const ReplayWriterOptions& options,
                                 std::function<void()> changed)
    : link_(std::move(link)),
      signature_(options.signature),
      codecs_(ColumnCodecs(options.signature, options.compression)),
      blocks_(std::make_shared<Blocks>(*link_, options, std::move(changed))),
      keeper_({
          absl::StrCat("writing to replay at ", link_->address()),
          [this](StreamKeeper* keeper) {
            OpenRawClientStream(NewChannel(link_->FindAgain(), "replay-insert", link_->keepalive()), kInsertMethod,
                                std::make_unique<Handler>(blocks_, keeper));
            return true;
          },
          [link = link_](const StopToken& stop) { return link->RestoreTables(stop); },
          [blocks = blocks_](absl::Status failure) { blocks->Fail(std::move(failure)); },
          [blocks = blocks_] { blocks->SayGoodbye(); },
      }) {}

absl::Status GrpcShardWriter::Offer(InsertBlock block) {
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
  return blocks_->Add(std::move(message));
}

ShardWriter::State GrpcShardWriter::state() const {
  return blocks_->state();
}

}  // namespace waggle
