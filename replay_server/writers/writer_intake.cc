#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/writers/writer_session.h"

// Takes a block in: checks it, copies it and makes its items. All or nothing.

namespace waggle {
namespace {

// Blocks of one writer that may wait for room in tables.
constexpr size_t kMaxWaitingBlocks = 1024;

}  // namespace

void WriterSession::Shrink() {
  std::vector<StreamRecord> replaced;  // Freed outside the locks.
  MutexLock insert_lock(&insert_mutex_);
  ShrinkHeld(&replaced);
  CountHeldBytes();
}

void WriterSession::ShrinkHeld(std::vector<StreamRecord>* replaced) {
  if (!held_.Shrink() || log_ == nullptr) {
    return;
  }
  std::vector<StreamRecord> streams = held_.RecordAll();
  MutexLock lock(&mutex_);
  changes_.ReplaceStreams(std::move(streams), replaced);
}

void WriterSession::CountHeldBytes() {
  const int64_t held = held_.bytes();
  held_bytes_.fetch_add(held - held_memory_.bytes(), std::memory_order_relaxed);
  held_memory_.Set(held);
  needed_memory_.Set(held_.NeededBytes({}));
}

absl::Status WriterSession::CountNeeded(const ReservedRows::Ranges& streams) {
  const int64_t more = held_.NeededBytes(streams) - needed_memory_.bytes();
  if (more > 0 && !needed_memory_.TryGrow(more)) {
    const MemoryAccount& all = *needed_memory_.account();
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kWritersTooLarge,
                   "the newest rows of all writers' streams, which are kept for windows to come, would take ", more,
                   " bytes more than the ", all.used(), " that they take; this server has ", all.limit(), " for them");
  }
  return absl::OkStatus();
}

absl::StatusOr<WriterSession::TakenIn> WriterSession::CheckSequence(uint64_t sequence, const InsertBlock& block,
                                                                    Done* done) {
  MutexLock lock(&mutex_);
  if (sequence <= applied_ && sequence > 0) {
    return TakenIn::kAppliedBefore;
  }
  WAGGLE_RETURN_IF_ERROR(broken_);
  const uint64_t accepted = applied_ + waiting_.size();
  if (sequence > applied_ && sequence <= accepted) {
    // The old callback is destroyed outside the lock. Its stream has ended.
    waiting_[sequence - applied_ - 1].done.swap(*done);
    return TakenIn::kWaitsAlready;
  }
  if (sequence != accepted + 1) {
    return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kBadSequence,
                   "blocks have to come without a gap; the next one is ", accepted + 1);
  }
  const auto bytes = static_cast<int64_t>(block.data.size());
  if (waiting_.size() >= kMaxWaitingBlocks ||
      (!waiting_.empty() && bytes > options_.max_waiting_bytes - waiting_bytes_)) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kTooManyWaiting, waiting_.size(),
                   " blocks of this writer, with ", waiting_bytes_, " bytes, wait for room");
  }
  return TakenIn::kNew;
}

absl::StatusOr<WriterSession::TakenIn> WriterSession::TakeIn(uint64_t sequence, const InsertBlock& block, Done* done) {
  std::vector<StreamRecord> replaced;  // Freed outside the locks.
  MutexLock insert_lock(&insert_mutex_);
  WAGGLE_ASSIGN_OR_RETURN(const TakenIn kind, CheckSequence(sequence, block, done));
  if (kind != TakenIn::kNew) {
    return kind;
  }
  if (log_ != nullptr) {
    WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kDisk, log_->status()));
  }
  ReservedRows::Ranges streams;
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadChunk, checks_.CheckChunks(block, held_, &streams)));
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadWindow, checks_.CheckItems(block, held_, streams)));
  // Counts the final state.
  const absl::Cleanup count = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { CountHeldBytes(); };
  WAGGLE_RETURN_IF_ERROR(CountNeeded(streams));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<ChunkRef> chunks, WithReason(reasons::kBadChunk, CopyRows(block)));
  held_.Append(block.chunks, chunks);
  WaitingBlock waiting;
  absl::StatusOr<ItemsByTable> items = MakeItems(block, &waiting);
  if (!items.ok()) {
    held_.UndoAppend(block.chunks);
    return items.status();
  }
  held_.ForgetOld(block.chunks);
  waiting.done = std::move(*done);
  Accept(sequence, block, streams, *std::move(items), std::move(waiting));
  if (held_.IsWasteful(held_memory_.account()->over())) {
    ShrinkHeld(&replaced);
  }
  return kind;
}

void WriterSession::Accept(uint64_t sequence, const InsertBlock& block, const ReservedRows::Ranges& streams,
                           ItemsByTable items, WaitingBlock waiting) {
  BlockChanges changes;
  if (log_ != nullptr) {
    changes.sequence = sequence;
    changes.fingerprint = Fingerprint(block);
    changes.result = waiting.result;
    for (const auto& [stream, range] : streams) {
      changes.streams.push_back(held_.Record(stream));
    }
    ForgetSavedUnlessKnown(sequence, changes.fingerprint);
  }
  waiting.bytes += static_cast<int64_t>(block.data.size());
  waiting.answers_left = static_cast<int64_t>(tables_.size()) + (home_.tier != nullptr ? 1 : 0);
  waiting.unlogged_left = unlogged_;
  std::vector<uint64_t> skipped = CountSaved(sequence, items);
  for (size_t i = 0; i < tables_.size(); ++i) {
    items[i].erase(items[i].begin(), items[i].begin() + static_cast<ptrdiff_t>(skipped[i]));
  }
  held_bytes_.fetch_add(waiting.bytes, std::memory_order_relaxed);
  MutexLock lock(&mutex_);
  changes_.ForgetSavedUpTo(sequence);
  if (log_ != nullptr) {
    changes_.Add(std::move(changes));
  }
  waiting_bytes_ += waiting.bytes;
  waiting_.push_back(std::move(waiting));
  entering_.push_back({sequence, std::move(items), std::move(skipped)});
}

void WriterSession::ForgetSavedUnlessKnown(uint64_t sequence, uint64_t fingerprint) {
  {
    MutexLock lock(&mutex_);
    if (!changes_.has_saved() || changes_.IsSaved(sequence, fingerprint)) {
      return;
    }
  }
  // The writer has lost the saved block of this number and numbers its blocks anew. The tables must learn it first: if
  // this block were saved before, it would be taken for the lost one when it comes again.
  for (const auto& table : tables_) {
    table->RestartMark(number_, sequence - 1);
  }
  MutexLock lock(&mutex_);
  changes_.ForgetSaved();
}

std::vector<uint64_t> WriterSession::CountSaved(uint64_t sequence, const ItemsByTable& items) const {
  std::vector<uint64_t> in(tables_.size());
  {
    MutexLock lock(&mutex_);
    if (!changes_.has_saved()) {
      return in;
    }
  }
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (sequence <= saved_marks_[i].sequence) {
      in[i] = items[i].size();
    } else if (sequence == saved_marks_[i].sequence + 1) {
      in[i] = std::min<uint64_t>(saved_marks_[i].items, items[i].size());
    }
  }
  return in;
}

absl::StatusOr<std::vector<ChunkRef>> WriterSession::CopyRows(const InsertBlock& block) const {
  std::vector<uint32_t> rows;
  rows.reserve(block.chunks.size());
  for (const ChunkInfo& chunk : block.chunks) {
    rows.push_back(chunk.rows);
  }
  NewBlock made = MakeChunks(rows_, rows, tables_.size() + 1, block.compressed_bytes, home_);
  block.data.CopyTo(made.data);
  if (block.checksum.has_value()) {  // Checks the copy, which is kept.
    const uint64_t checksum = Checksum(made.data, block.data.size());
    if (checksum != *block.checksum) {
      return Refusal(absl::StatusCode::kDataLoss, reasons::kDamagedRows,
                     "its rows were damaged on their way: their checksum is ", checksum, ", the writer's was ",
                     *block.checksum);
    }
  }
  WAGGLE_RETURN_IF_ERROR(checks_.CheckRows(block, made));
  return std::move(made.chunks);
}

absl::StatusOr<WriterSession::ItemsByTable> WriterSession::MakeItems(const InsertBlock& block,
                                                                     WaitingBlock* waiting) const {
  ItemsByTable items(tables_.size());
  if (tables_.size() == 1) {
    items[0].reserve(block.items.size());
  }
  int64_t references = 0;
  for (const ItemInfo& info : block.items) {
    NewItem item;
    const int64_t left = options_.max_block_references - references;
    switch (held_.FindWindow(info, static_cast<size_t>(left), &item.window)) {
      case ReservedRows::Found::kNoRows:
        ++waiting->result.items_without_rows;
        continue;
      case ReservedRows::Found::kTooManyChunks:
        return Refusal(absl::StatusCode::kResourceExhausted, reasons::kBlockTooLarge, "the block's ",
                       block.items.size(), " windows lie in more than ", options_.max_block_references,
                       " chunks together; send fewer windows a block, or more rows a chunk");
      case ReservedRows::Found::kAll:
        break;
    }
    references += static_cast<int64_t>(item.window.chunks.size());
    item.priority = info.priority;
    item.highest_priority = block.highest_priority;
    item.policy_version = block.policy_version;
    item.pins = static_cast<uint16_t>(info.table);
    items[info.table].push_back(std::move(item));
    ++waiting->result.items_inserted;
  }
  waiting->bytes =
      static_cast<int64_t>(block.items.size() * sizeof(NewItem) + static_cast<size_t>(references) * sizeof(ChunkRef));
  return items;
}

}  // namespace waggle
