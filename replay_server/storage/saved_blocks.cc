#include "replay_server/storage/saved_blocks.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "replay_server/storage/record_scan.h"
#include "replay_server/storage/saved_checks.h"

namespace waggle {
namespace {

using Family = Database::Family;

absl::Status CheckRowsSize(const std::string& record, uint64_t bytes) {
  return record.size() == bytes + kRowsTrailerBytes
             ? absl::OkStatus()
             : absl::DataLossError(absl::StrCat("a record of ", record.size(), " bytes has not ", bytes,
                                                " bytes of rows, as its head says"));
}

}  // namespace

void SavedTier::Add(const std::shared_ptr<ChunkTier>& tier) {
  in_memory = in_memory || tier == nullptr;
  largest = largest == nullptr || (tier != nullptr && tier->limit() > largest->limit()) ? tier : largest;
}

void SavedTier::Add(const SavedTier& other) {
  in_memory = in_memory || other.in_memory;
  if (other.largest != nullptr) {
    Add(other.largest);
  }
}

absl::Status SavedBlocks::Need(const ChunkNames& names, const std::shared_ptr<const RowLayout>& layout,
                               const SavedTier& tier) {
  for (const ChunkName& name : names) {
    Block& block = needed_[name.block];
    block.layout = block.layout != nullptr ? block.layout : layout;
    block.tier.Add(tier);
    if (block.layout != layout) {
      return absl::DataLossError(absl::StrCat("block ", name.block, " is shared by rows of different columns"));
    }
  }
  return absl::OkStatus();
}

absl::Status SavedBlocks::Load(uint64_t next) {
  // New blocks must not get the numbers of existing ones.
  WAGGLE_RETURN_IF_ERROR(NoteLast('b', &next));
  WAGGLE_RETURN_IF_ERROR(NoteLast('h', &next));
  ledger_ = std::make_shared<BlockLedger>(next);
  WAGGLE_RETURN_IF_ERROR(
      ForEachRecord(database_, Family::kBlocks, "b", [this](auto key, auto value) { return TakeBlock(key, value); }));
  WAGGLE_RETURN_IF_ERROR(
      ForEachRecord(database_, Family::kBlocks, "h", [this](auto key, auto value) { return TakeHead(key, value); }));
  for (const auto& [number, block] : needed_) {
    if (block.chunks.empty()) {
      return absl::DataLossError(absl::StrCat("block ", number, " of rows is missing"));
    }
  }
  return absl::OkStatus();
}

absl::Status SavedBlocks::NoteLast(char kind, uint64_t* next) {
  const std::unique_ptr<rocksdb::Iterator> it(
      database_->get()->NewIterator(rocksdb::ReadOptions(), database_->family(Family::kBlocks)));
  it->SeekForPrev(std::string(1, static_cast<char>(kind + 1)));
  if (it->Valid() && it->key()[0] == kind) {
    WAGGLE_ASSIGN_OR_RETURN(const ParsedKey last,
                            ParseKeyOf(std::string(1, kind), {it->key().data(), it->key().size()}));
    *next = std::max(*next, (last.first & ~kTieredBlock) + 1);
  }
  return FromRocksDb(it->status());
}

SavedBlocks::Block* SavedBlocks::FindNeeded(uint64_t number) {
  const auto needed = needed_.find(number);
  if (needed != needed_.end()) {
    return &needed->second;
  }
  orphans_.push_back(number);
  return nullptr;
}

absl::Status SavedBlocks::TakeBlock(absl::string_view key, absl::string_view value) {
  WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKeyOf("b", key));
  Block* const block = FindNeeded(parsed.first);
  if (block == nullptr) {
    return absl::OkStatus();
  }
  WAGGLE_ASSIGN_OR_RETURN(const StoredBlock stored, DecodeBlock(value));
  WAGGLE_ASSIGN_OR_RETURN(const uint64_t bytes, CheckShape(parsed.first, stored, *block->layout));
  if (stored.data.size() != bytes) {
    return absl::DataLossError(
        absl::StrCat("block ", parsed.first, " has ", stored.data.size(), " bytes of rows, and should have ", bytes));
  }
  NewBlock made = MakeChunks(block->layout, stored.rows, stored.holders, stored.piece_bytes,
                             {ledger_, stored.checkpointed}, parsed.first);
  std::memcpy(made.data, stored.data.data(), stored.data.size());
  block->chunks = std::move(made.chunks);
  block->owners.resize(stored.holders);
  CountRows(bytes);
  return absl::OkStatus();
}

// Reads a block whose rows have their own record. They stay there if all tables that may refer to them have a limit.
absl::Status SavedBlocks::TakeHead(absl::string_view key, absl::string_view value) {
  WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKeyOf("h", key));
  Block* const block = FindNeeded(parsed.first);
  if (block == nullptr) {
    return absl::OkStatus();
  }
  WAGGLE_ASSIGN_OR_RETURN(const StoredBlock stored, DecodeBlockHead(value));
  WAGGLE_ASSIGN_OR_RETURN(const uint64_t bytes, CheckShape(parsed.first, stored, *block->layout));
  block->owners.resize(stored.holders);
  BlockHome home{ledger_, stored.checkpointed};
  if (!block->tier.in_memory) {
    home.tier = block->tier.largest;
    block->chunks =
        MakeColdChunks(block->layout, stored.rows, stored.holders, stored.piece_bytes, std::move(home), parsed.first);
    return absl::OkStatus();
  }
  // Checked before memory is allocated by the head's numbers.
  WAGGLE_ASSIGN_OR_RETURN(const std::string rows, GetRecord(database_, Family::kBlocks, RowsKey(parsed.first)));
  WAGGLE_RETURN_IF_ERROR(CheckRowsSize(rows, bytes));
  NewBlock made =
      MakeChunks(block->layout, stored.rows, stored.holders, stored.piece_bytes, std::move(home), parsed.first);
  WAGGLE_RETURN_IF_ERROR(DecodeRows(parsed.first, rows, made.data, made.bytes));
  block->chunks = std::move(made.chunks);
  CountRows(bytes);
  return absl::OkStatus();
}

void SavedBlocks::CountRows(uint64_t bytes) {
  constexpr uint64_t kEvery = uint64_t{1} << 30;
  bytes_ += bytes;
  if (bytes_ >= logged_ + kEvery) {
    logged_ = bytes_;
    LogInfo("restoring: ", bytes_ >> 20, " MiB of rows so far");
  }
}

absl::StatusOr<ChunkRef> SavedBlocks::Resolve(const ChunkName& name, size_t pins, uint64_t owner) {
  Block& block = needed_.at(name.block);
  if (name.index >= block.chunks.size() || pins >= block.owners.size()) {
    return absl::DataLossError(absl::StrCat("block ", name.block, " has no chunk ", name.index, " for holder ", pins));
  }
  uint64_t& known = block.owners[pins];
  known = known == 0 ? owner : known;
  if (known != owner) {
    return absl::DataLossError(absl::StrCat("block ", name.block, " has number ", known, " as its holder ", pins,
                                            ", and number ", owner, " as well"));
  }
  return block.chunks[name.index];
}

}  // namespace waggle
