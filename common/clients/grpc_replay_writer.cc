#include "common/clients/grpc_replay_writer.h"

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/clients/replay_convert.h"
#include "common/rpc/array_spec_convert.h"
#include "common/rpc/channel.h"
#include "common/rpc/client_stream.h"
#include "common/rpc/raw_codec.h"

namespace waggle {
namespace {

constexpr char kMethod[] = "/waggle.v1.ReplayService/Insert";

absl::Status Validate(const ReplayWriterOptions& options) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(options.writer_id), "writer_id"));
  if (options.tables.empty()) {
    return absl::InvalidArgumentError("tables: a writer names at least one");
  }
  if (options.signature.empty()) {
    return absl::InvalidArgumentError("signature: a writer's rows have at least one column");
  }
  for (const ArraySpec& column : options.signature) {
    WAGGLE_RETURN_IF_ERROR(Annotate(column.Validate(), "signature"));
  }
  if (options.max_unacknowledged_blocks < 1 || options.max_unacknowledged_bytes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_unacknowledged_blocks and max_unacknowledged_bytes are at least "
                     "1; got ",
                     options.max_unacknowledged_blocks, " and ", options.max_unacknowledged_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

class GrpcReplayWriter::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(const ReplayWriterOptions& options)
      : max_blocks_(static_cast<size_t>(options.max_unacknowledged_blocks)),
        max_bytes_(static_cast<size_t>(options.max_unacknowledged_bytes)) {
    v1::InsertOpen* open = open_.mutable_open();
    open->set_writer_id(options.writer_id);
    for (const std::string& table : options.tables) {
      open->add_tables(table);
    }
    for (const ArraySpec& column : options.signature) {
      *open->add_signature() = ToProto(column);
    }
  }

  const v1::InsertRequest& open() const { return open_; }

  absl::Status Append(Message<v1::InsertRequest> message, const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_) {
    const size_t bytes = message.data.size() + message.header.ByteSizeLong();
    MutexLock lock(&mutex_);
    if (FullLocked(bytes) && failure_.ok()) {
      WAGGLE_RETURN_IF_ERROR(AwaitRoomLocked(bytes, stop));
    }
    WAGGLE_RETURN_IF_ERROR(failure_);
    Pending pending;
    pending.message = std::move(message);
    pending.bytes = bytes;
    pending.Encode(first_sequence_ + pending_.size());
    pending_bytes_ += bytes;
    pending_.push_back(std::move(pending));
    if (peer_ != nullptr) {
      peer_->Send(pending_.back().encoded);
    }
    return absl::OkStatus();
  }

  absl::Status Flush(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::Time deadline = absl::Now() + timeout;
    MutexLock lock(&mutex_);
    while (!pending_.empty() && failure_.ok()) {
      const absl::Duration left = deadline - absl::Now();
      if (left <= absl::ZeroDuration()) {
        return absl::DeadlineExceededError(
            absl::StrCat(pending_.size(), " blocks are not acknowledged after ", absl::FormatDuration(timeout)));
      }
      changed_.WaitFor(&mutex_, left);
    }
    return failure_;
  }

  Stats stats() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return stats_;
  }

  // Notes the stream that is being opened, so that Cancel can end it.
  void Opening(std::shared_ptr<RawStreamPeer> peer) ABSL_LOCKS_EXCLUDED(mutex_) {
    bool cancelled = false;
    {
      MutexLock lock(&mutex_);
      opening_ = peer;
      cancelled = cancelled_;
    }
    if (cancelled) {
      peer->Close(absl::CancelledError("the writer is gone"));
    }
  }

  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<RawStreamPeer> peer;
    {
      MutexLock lock(&mutex_);
      cancelled_ = true;
      peer = opening_;
    }
    if (peer != nullptr) {
      peer->Close(absl::CancelledError("the writer is gone"));
    }
  }

  // The server has applied everything up to `applied`: goes on with the rest on this stream.
  absl::Status Opened(uint64_t applied, std::shared_ptr<RawStreamPeer> peer) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (applied + 1 > first_sequence_ + pending_.size()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the server has applied ", applied, " blocks of this writer, which sent ",
                       first_sequence_ + pending_.size() - 1, ": another writer uses its id"));
    }
    if (applied + 1 < first_sequence_) {
      first_sequence_ = applied + 1;  // It has lost what it had acknowledged; the numbers go on from what it knows.
      for (size_t i = 0; i < pending_.size(); ++i) {
        pending_[i].Encode(first_sequence_ + i);
      }
    }
    // Applied, but the acknowledgement was lost with the last stream.
    while (first_sequence_ <= applied) {
      stats_.items_inserted += pending_.front().message.header.block().item_stream_size();
      PopLocked();
    }
    inserted_before_ = stats_.items_inserted;
    without_rows_before_ = stats_.items_without_rows;
    peer_ = std::move(peer);
    for (const Pending& pending : pending_) {
      peer_->Send(pending.encoded);
    }
    changed_.SignalAll();
    return absl::OkStatus();
  }

  absl::Status Acknowledged(const v1::InsertAck& ack) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    const uint64_t applied = ack.applied_sequence();
    if (applied + 1 > first_sequence_ + pending_.size() || applied + 1 < first_sequence_) {
      return absl::InternalError(absl::StrCat("the server acknowledged block ", applied, "; blocks ", first_sequence_,
                                              " to ", first_sequence_ + pending_.size() - 1, " were to be"));
    }
    while (first_sequence_ <= applied) {
      PopLocked();
    }
    stats_.items_inserted = inserted_before_ + ack.items_inserted();
    stats_.items_without_rows = without_rows_before_ + ack.items_without_rows();
    changed_.SignalAll();
    return absl::OkStatus();
  }

  void Closed() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    peer_ = nullptr;
    opening_ = nullptr;
  }

  void Fail(absl::Status failure) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (failure_.ok()) {
      failure_ = std::move(failure);
    }
    changed_.SignalAll();
  }

 private:
  struct Pending {
    Message<v1::InsertRequest> message;
    grpc::ByteBuffer encoded;
    size_t bytes = 0;

    void Encode(uint64_t sequence) {
      message.header.mutable_block()->set_sequence(sequence);
      encoded = EncodeMessage(message);
    }
  };

  bool FullLocked(size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !pending_.empty() && (pending_.size() >= max_blocks_ || pending_bytes_ + bytes > max_bytes_);
  }

  absl::Status AwaitRoomLocked(size_t bytes, const StopToken& stop) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Time start = absl::Now();
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
    stats_.waited += absl::Now() - start;
    return status;
  }

  void PopLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    pending_bytes_ -= pending_.front().bytes;
    pending_.pop_front();
    ++first_sequence_;
  }

  const size_t max_blocks_;
  const size_t max_bytes_;
  v1::InsertRequest open_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);  // Not acknowledged, in their order.
  size_t pending_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t first_sequence_ ABSL_GUARDED_BY(mutex_) = 1;             // Of pending_'s first, or of the next to come.
  std::shared_ptr<RawStreamPeer> opening_ ABSL_GUARDED_BY(mutex_);  // Of the current stream.
  std::shared_ptr<RawStreamPeer> peer_ ABSL_GUARDED_BY(mutex_);     // The same, once it is open.
  uint64_t inserted_before_ ABSL_GUARDED_BY(mutex_) = 0;            // The current stream.
  uint64_t without_rows_before_ ABSL_GUARDED_BY(mutex_) = 0;
  Stats stats_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

// One stream of the writer.
class GrpcReplayWriter::Handler final : public RawClientStreamHandler {
 public:
  // `opened` is called when the server has answered, `ended` when the stream has.
  Handler(std::shared_ptr<State> state, std::function<void()> opened, std::function<void(absl::Status)> ended)
      : state_(std::move(state)), opened_(std::move(opened)), ended_(std::move(ended)) {}

  void OnOpen(std::shared_ptr<RawStreamPeer> peer) override {
    peer_ = std::move(peer);
    peer_->Send(EncodeMessage(state_->open(), ByteSlices()));
    state_->Opening(peer_);
  }

  void OnMessage(grpc::ByteBuffer buffer) override {
    v1::InsertResponse response;
    ByteSlices data;
    absl::Status status = DecodeMessage(buffer, kMaxHeaderBytes, &response, &data);
    if (status.ok()) {
      status = Handle(response);
    }
    if (!status.ok()) {
      state_->Fail(status);
      peer_->Close(std::move(status));
      return;
    }
    peer_->RequestNext();
  }

  void OnPeerDone() override {}

  void OnClosed(absl::Status status) override {
    state_->Closed();
    ended_(std::move(status));
  }

 private:
  absl::Status Handle(const v1::InsertResponse& response) {
    if (response.has_opened() != !is_open_ || response.has_ack() != is_open_) {
      return absl::InternalError("the server's messages on the stream are not those of an insertion");
    }
    if (is_open_) {
      return state_->Acknowledged(response.ack());
    }
    is_open_ = true;
    opened_();
    return state_->Opened(response.opened().applied_sequence(), peer_);
  }

  const std::shared_ptr<State> state_;
  const std::function<void()> opened_;
  const std::function<void(absl::Status)> ended_;
  std::shared_ptr<RawStreamPeer> peer_;
  bool is_open_ = false;
};

absl::StatusOr<std::unique_ptr<ReplayWriter>> GrpcReplayWriter::Create(std::shared_ptr<ReplayLink> link,
                                                                       ReplayWriterOptions options) {
  WAGGLE_RETURN_IF_ERROR(Validate(options));
  return std::unique_ptr<ReplayWriter>(new GrpcReplayWriter(std::move(link), std::move(options)));
}

GrpcReplayWriter::GrpcReplayWriter(std::shared_ptr<ReplayLink> link, ReplayWriterOptions options)
    : link_(std::move(link)),
      state_(std::make_shared<State>(options)),
      keeper_({
          absl::StrCat("writing to replay at ", link_->address()),
          [this, channel = NewChannel(link_->address(), "replay-insert")](std::function<void(absl::Status)> ended) {
            OpenRawClientStream(channel, kMethod,
                                std::make_unique<Handler>(
                                    state_, [this] { keeper_.Opened(); }, std::move(ended)));
          },
          [state = state_] { state->Cancel(); },
          [link = link_](const StopToken& stop) { return link->RestoreTables(stop); },
          [state = state_](absl::Status failure) { state->Fail(std::move(failure)); },
      }) {}

absl::Status GrpcReplayWriter::Append(InsertBlock block, const StopToken& stop) {
  Message<v1::InsertRequest> message;
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

}  // namespace waggle
