#include "replay_server/writers/block_intake.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "replay_server/base/refusal_reasons.h"

namespace waggle {

BlockIntake::BlockIntake(const std::vector<std::shared_ptr<Table>>& tables,
                         const std::shared_ptr<const RowLayout>& rows, const WriterSessionOptions& options,
                         const BlockHome& home, std::shared_ptr<MemoryAccount> held,
                         std::shared_ptr<MemoryAccount> needed)
    : tables_(tables.size()),
      rows_(rows),
      max_references_(options.max_block_references),
      checks_(tables, *rows, options),
      home_(home),
      held_(rows, LongestWindow(tables), tables.size() + 1, home),
      held_memory_(std::move(held)),
      needed_memory_(std::move(needed)) {}

int64_t BlockIntake::CountBytes() {
  const int64_t more = held_.bytes() - held_memory_.bytes();
  held_memory_.Set(held_.bytes());
  needed_memory_.Set(held_.NeededBytes({}));
  return more;
}

absl::Status BlockIntake::CountNeeded(const ReservedRows::Ranges& streams) {
  const int64_t more = held_.NeededBytes(streams) - needed_memory_.bytes();
  if (more > 0 && !needed_memory_.TryGrow(more)) {
    const MemoryAccount& all = *needed_memory_.account();
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kWritersTooLarge,
                   "the newest rows of all writers' streams, which are kept for windows to come, would take ", more,
                   " bytes more than the ", all.used(), " that they take; this server has ", all.limit(), " for them");
  }
  return absl::OkStatus();
}

absl::StatusOr<BlockItems> BlockIntake::Take(const InsertBlock& block) {
  BlockItems made;
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadChunk, checks_.CheckChunks(block, held_, &made.streams)));
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadWindow, checks_.CheckItems(block, held_, made.streams)));
  WAGGLE_RETURN_IF_ERROR(CountNeeded(made.streams));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<ChunkRef> chunks, WithReason(reasons::kBadChunk, CopyRows(block)));
  held_.Append(block.chunks, chunks);
  if (const absl::Status status = MakeItems(block, &made); !status.ok()) {
    held_.UndoAppend(block.chunks);
    return status;
  }
  held_.ForgetOld(block.chunks);
  return made;
}

absl::StatusOr<std::vector<ChunkRef>> BlockIntake::CopyRows(const InsertBlock& block) const {
  std::vector<uint32_t> rows;
  rows.reserve(block.chunks.size());
  for (const ChunkInfo& chunk : block.chunks) {
    rows.push_back(chunk.rows);
  }
  NewBlock made = MakeChunks(rows_, rows, tables_ + 1, block.compressed_bytes, home_);
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

absl::Status BlockIntake::MakeItems(const InsertBlock& block, BlockItems* made) const {
  made->items.resize(tables_);
  if (tables_ == 1) {
    made->items[0].reserve(block.items.size());
  }
  int64_t references = 0;
  for (const ItemInfo& info : block.items) {
    NewItem item;
    const int64_t left = max_references_ - references;
    switch (held_.FindWindow(info, static_cast<size_t>(left), &item.window)) {
      case ReservedRows::Found::kNoRows:
        ++made->counts.items_without_rows;
        continue;
      case ReservedRows::Found::kTooManyChunks:
        return Refusal(absl::StatusCode::kResourceExhausted, reasons::kBlockTooLarge, "the block's ",
                       block.items.size(), " windows lie in more than ", max_references_,
                       " chunks together; send fewer windows a block, or more rows a chunk");
      case ReservedRows::Found::kAll:
        break;
    }
    references += static_cast<int64_t>(item.window.chunks.size());
    item.priority = info.priority;
    item.highest_priority = block.highest_priority;
    item.policy_version = block.policy_version;
    item.pins = static_cast<uint16_t>(info.table);
    made->items[info.table].push_back(std::move(item));
    ++made->counts.items_inserted;
  }
  made->bytes =
      static_cast<int64_t>(block.items.size() * sizeof(NewItem) + static_cast<size_t>(references) * sizeof(ChunkRef));
  return absl::OkStatus();
}

}  // namespace waggle
