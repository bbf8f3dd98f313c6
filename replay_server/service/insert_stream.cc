#include "replay_server/service/insert_stream.h"

#include <deque>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/threads/mutex.h"
#include "common/net/array_spec_convert.h"
#include "common/replay/replay_convert.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/service/lane_groups.h"

namespace waggle {

class InsertStream::State : public std::enable_shared_from_this<State> {
 public:
  State(Executor* executor, InsertStreamOptions options, std::shared_ptr<MemoryAccount> budget)
      : options_(std::move(options)), budget_(std::move(budget)), lane_(executor, LaneOf(kInsertLanes)) {}

  // Must be called before other functions.
  void Attach(std::shared_ptr<StreamPeer<Message<v1::InsertResponse>>> peer) { peer_ = std::move(peer); }

  bool opened() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return session_ != nullptr || ended_;
  }

  void Opened(std::shared_ptr<WriterSession> session) ABSL_LOCKS_EXCLUDED(mutex_) {
    Message<v1::InsertResponse> response;
    v1::InsertOpened* opened = response.header.mutable_opened();
    const WriterSession::Progress progress = session->progress();
    opened->set_applied_sequence(progress.sequence);
    opened->set_items_inserted(progress.items.items_inserted);
    opened->set_items_without_rows(progress.items.items_without_rows);
    opened->set_durable_sequence(progress.durable);
    {
      MutexLock lock(&mutex_);
      connection_ = session->Connect();
      session_ = std::move(session);
    }
    peer_->Send(std::move(response));
    peer_->RequestNext();
  }

  // Takes in a block of `bytes` bytes, which is applied in its turn.
  void Take(uint64_t sequence, InsertBlock block, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    MemoryAccount::Share share = budget_->Take(bytes);
    MemoryAccount::Share expected;  // Given back once the block itself is counted.
    bool start = false;
    {
      MutexLock lock(&mutex_);
      reading_ = false;
      expected.swap(expected_);
      last_bytes_ = bytes;
      blocks_.push_back({sequence, std::move(block), bytes, std::move(share)});
      ++in_flight_;
      bytes_in_flight_ += bytes;
      start = !std::exchange(applying_, true);
    }
    expected.reset();
    ReadOn();
    if (start && bytes <= options_.max_inline_bytes) {
      ApplyTurn(std::numeric_limits<size_t>::max());
    } else if (start) {
      AwaitTurn();
    }
  }

  void PeerDone() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      peer_done_ = true;
    }
    MaybeClose();
  }

  void Fail(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_) {
    End();
    peer_->Close(std::move(status));
  }

  // Drops blocks that were not applied. Items that wait in a table stay there: they belong to the session.
  void End() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::deque<Block> dropped;  // Destroyed outside the lock.
    std::shared_ptr<WriterSession> session;
    TableClient::Connection connection;
    MemoryAccount::Share expected;
    {
      MutexLock lock(&mutex_);
      ended_ = true;
    }
    budget_->Withdraw(this);
    MutexLock lock(&mutex_);
    dropped.swap(blocks_);
    expected.swap(expected_);
    connection = std::move(connection_);
    session.swap(session_);  // Its callbacks may hold this.
  }

 private:
  struct Block {
    uint64_t sequence = 0;
    InsertBlock block;
    int64_t bytes = 0;
    MemoryAccount::Share share;  // Its part of the budget, until it is applied.
  };

  // Submits the blocks of one turn to the executor, if there are any.
  void AwaitTurn() ABSL_LOCKS_EXCLUDED(mutex_) {
    size_t blocks = 0;
    int64_t bytes = 0;
    {
      MutexLock lock(&mutex_);
      if (blocks_.empty() || ended_) {
        applying_ = false;
        return;
      }
      do {
        bytes += blocks_[blocks++].bytes;
      } while (blocks < blocks_.size() && bytes + blocks_[blocks].bytes <= options_.turn_bytes);
    }
    if (!lane_.SubmitBytes(bytes, [self = shared_from_this(), blocks] { self->ApplyTurn(blocks); }).ok()) {
      Fail(Refusal(absl::StatusCode::kUnavailable, reasons::kTooBusy, "the replay server is too busy"));
    }
  }

  // Applies up to `blocks` blocks, in order, and awaits the next turn for the rest.
  void ApplyTurn(size_t blocks) ABSL_LOCKS_EXCLUDED(mutex_) {
    Apply(blocks);
    AwaitTurn();
  }

  void Apply(size_t blocks) ABSL_LOCKS_EXCLUDED(mutex_) {
    for (; blocks > 0; --blocks) {
      Block next;
      std::shared_ptr<WriterSession> session;
      {
        MutexLock lock(&mutex_);
        if (blocks_.empty() || ended_) {
          return;
        }
        next = std::move(blocks_.front());
        blocks_.pop_front();
        session = session_;
      }
      session->Insert(next.sequence, std::move(next.block),
                      [self = shared_from_this(), bytes = next.bytes,
                       share = std::move(next.share)](const absl::StatusOr<WriterSession::Result>& result) mutable {
                        share.reset();
                        self->Applied(bytes, result);
                      });
    }
  }

  void Applied(int64_t bytes, const absl::StatusOr<WriterSession::Result>& result) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (!result.ok()) {
      // A closed table means that this server is about to end: the writer must come back, not give up.
      Fail(absl::IsCancelled(result.status())
               ? Refusal(absl::StatusCode::kUnavailable, reasons::kStopping, "the replay server is stopping")
               : result.status());
      return;
    }
    if (options_.on_inserted != nullptr) {
      options_.on_inserted(result->items_inserted);
    }
    {
      MutexLock lock(&mutex_);
      --in_flight_;
      bytes_in_flight_ -= bytes;
      unacknowledged_ = true;
    }
    ReadOn();
    Acknowledge();
  }

  // Asks for the next block if this stream and the server have room for it.
  void ReadOn() ABSL_LOCKS_EXCLUDED(mutex_) {
    int64_t bytes = 0;
    uint64_t wait = 0;
    bool waited = false;
    {
      MutexLock lock(&mutex_);
      if (!MayReadLocked()) {
        return;
      }
      if (in_flight_ == 0) {
        reading_ = true;
        waited = std::exchange(waiting_, false);
      } else if (std::exchange(waiting_, true)) {
        return;
      } else {
        bytes = last_bytes_;  // The next block is probably as large.
        wait = ++waits_;
      }
    }
    if (waited) {
      budget_->Withdraw(this);
    }
    if (bytes == 0) {
      peer_->RequestNext();
    } else {
      budget_->Await(this, bytes, [self = shared_from_this(), wait](MemoryAccount::Share share) {
        self->MayRead(wait, std::move(share));
      });
    }
  }

  // Called when the budget has room for about one more block.
  void MayRead(uint64_t wait, MemoryAccount::Share share) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      if (!waiting_ || wait != waits_) {
        return;  // The wait was given up meanwhile, and a block has been requested since.
      }
      waiting_ = false;
      if (ended_ || !MayReadLocked()) {
        return;
      }
      reading_ = true;
      expected_ = std::move(share);
    }
    peer_->RequestNext();
  }

  bool MayReadLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !reading_ && !peer_done_ && in_flight_ < options_.max_blocks_in_flight &&
           bytes_in_flight_ < options_.max_bytes_in_flight;
  }

  // Acknowledges all applied blocks, unless an acknowledgement is being sent: later blocks go with the next one.
  void Acknowledge() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<WriterSession> session;
    {
      MutexLock lock(&mutex_);
      if (!unacknowledged_ || sending_ || session_ == nullptr) {
        return;
      }
      unacknowledged_ = false;
      sending_ = true;
      session = session_;
    }
    Message<v1::InsertResponse> response;
    v1::InsertAck* ack = response.header.mutable_ack();
    const WriterSession::Progress progress = session->progress();
    ack->set_applied_sequence(progress.sequence);
    ack->set_items_inserted(progress.items.items_inserted);
    ack->set_items_without_rows(progress.items.items_without_rows);
    ack->set_durable_sequence(progress.durable);
    peer_->Send(std::move(response), [self = shared_from_this()] {
      {
        MutexLock lock(&self->mutex_);
        self->sending_ = false;
      }
      self->Acknowledge();
      self->MaybeClose();
    });
  }

  // Ends the stream once the peer sends no more and all blocks are acknowledged. A client that sees the end may open
  // another writer of this id at once.
  void MaybeClose() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<WriterSession> session;
    TableClient::Connection connection;
    {
      MutexLock lock(&mutex_);
      if (!peer_done_ || in_flight_ > 0 || unacknowledged_ || sending_) {
        return;
      }
      session.swap(session_);
      connection = std::move(connection_);
      if (session != nullptr) {
        session->SetEnded();  // Under the lock, so that another thread that ends the stream finds it ended.
      }
    }
    connection = TableClient::Connection();
    peer_->Close(absl::OkStatus());
  }

  const InsertStreamOptions options_;
  const std::shared_ptr<MemoryAccount> budget_;
  Executor::Lane lane_;
  std::shared_ptr<StreamPeer<Message<v1::InsertResponse>>> peer_;  // Set once, before other calls.
  mutable Mutex mutex_;
  std::shared_ptr<WriterSession> session_ ABSL_GUARDED_BY(mutex_);
  TableClient::Connection connection_ ABSL_GUARDED_BY(mutex_);
  std::deque<Block> blocks_ ABSL_GUARDED_BY(mutex_);       // Not yet handed to the session.
  int64_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;          // Blocks that are not applied yet.
  int64_t bytes_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;    // Bytes of these blocks.
  int64_t last_bytes_ ABSL_GUARDED_BY(mutex_) = 0;         // Bytes of the newest block.
  bool reading_ ABSL_GUARDED_BY(mutex_) = true;            // The next message was requested.
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;           // True while it waits for the budget.
  uint64_t waits_ ABSL_GUARDED_BY(mutex_) = 0;             // Number of such waits.
  MemoryAccount::Share expected_ ABSL_GUARDED_BY(mutex_);  // The requested block's part of the budget.
  bool applying_ ABSL_GUARDED_BY(mutex_) = false;          // Apply runs, or is queued.
  bool unacknowledged_ ABSL_GUARDED_BY(mutex_) = false;    // A block was applied since the last acknowledgement.
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;           // An acknowledgement is being sent.
  bool peer_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;

  friend class InsertStream;
};

InsertStream::InsertStream(ReplayStore* store, Executor* executor, InsertStreamOptions options,
                           std::shared_ptr<MemoryAccount> budget)
    : store_(store), state_(std::make_shared<State>(executor, std::move(options), std::move(budget))) {}

InsertStream::~InsertStream() {
  state_->End();
}

void InsertStream::OnOpen(std::shared_ptr<StreamPeer<Message<v1::InsertResponse>>> peer) {
  state_->Attach(std::move(peer));
}

void InsertStream::OnMessage(Message<v1::InsertRequest> message) {
  const bool opened = state_->opened();
  if (message.header.has_open() && !opened && message.data.size() == 0) {
    if (absl::Status status = Open(message.header.open()); !status.ok()) {
      state_->Fail(std::move(status));
    }
    return;
  }
  if (!message.header.has_block() || !opened) {
    state_->Fail(Refusal(
        absl::StatusCode::kInvalidArgument, reasons::kUnexpectedMessage,
        opened ? "expected a block; got a message without one" : "the first message must be `open`, without data"));
    return;
  }
  const int64_t bytes = static_cast<int64_t>(message.data.size() + message.header.ByteSizeLong());
  const uint64_t sequence = message.header.block().sequence();
  absl::StatusOr<InsertBlock> block = FromProto(message.header.block(), std::move(message.data));
  if (!block.ok()) {
    state_->Fail(WithReason(reasons::kBadRequest, Annotate(block.status(), absl::StrCat("block ", sequence))));
    return;
  }
  state_->Take(sequence, *std::move(block), bytes);
}

absl::Status InsertStream::Open(const v1::InsertOpen& open) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<ArraySpec> signature,
                          WithReason(reasons::kWrongColumns, FromProto(open.signature())));
  const std::vector<std::string> tables(open.tables().begin(), open.tables().end());
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<WriterSession> session,
                          store_->OpenWriter(open.writer_id(), tables, signature, open.incarnation()));
  WAGGLE_RETURN_IF_ERROR(
      WithReason(reasons::kOtherWriter,
                 Annotate(session->Claim(open.incarnation()), absl::StrCat("writer \"", open.writer_id(), "\""))));
  state_->Opened(std::move(session));
  return absl::OkStatus();
}

void InsertStream::OnPeerDone() {
  state_->PeerDone();
}

}  // namespace waggle
