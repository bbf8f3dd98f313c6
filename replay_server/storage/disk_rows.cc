#include "replay_server/storage/disk_rows.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "replay_server/storage/block_records.h"
#include "replay_server/storage/records.h"

namespace waggle {
namespace {

uint64_t IdOf(const ColdBlock& block) {
  return block.durable != nullptr ? block.durable->id : block.id;
}

// Values may be larger than the cache, and are never read twice soon.
rocksdb::ReadOptions OnceOptions() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  return options;
}

// What is read at a time is in memory twice for a moment.
constexpr size_t kReadBytes = size_t{4} << 20;

// For files that this process has written: the rows' own checksums say whose they are and whether they were damaged,
// and RocksDB's take longer than all the rest of reading. Of files of unknown origin they guard its own structures,
// too.
rocksdb::ReadOptions OwnOptions() {
  rocksdb::ReadOptions options = OnceOptions();
  options.verify_checksums = false;
  return options;
}

// Reads the records of these keys into the blocks' rows.
absl::Status ReadAll(const rocksdb::ReadOptions& options, rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                     const std::vector<std::string>& keys, const std::vector<const ColdBlock*>& blocks) {
  for (size_t first = 0; first < keys.size();) {
    size_t bytes = 0;
    size_t end = first;
    std::vector<rocksdb::Slice> slices;
    for (; end < keys.size() && (end == first || bytes + blocks[end]->bytes <= kReadBytes); ++end) {
      slices.emplace_back(keys[end]);
      bytes += blocks[end]->bytes;
    }
    std::vector<rocksdb::PinnableSlice> values(slices.size());
    std::vector<rocksdb::Status> statuses(slices.size());
    database->MultiGet(options, family, slices.size(), slices.data(), values.data(), statuses.data());
    for (size_t i = 0; i < slices.size(); ++i) {
      WAGGLE_RETURN_IF_ERROR(FromRocksDb(statuses[i]));
      const ColdBlock& block = *blocks[first + i];
      WAGGLE_RETURN_IF_ERROR(DecodeRows(IdOf(block), {values[i].data(), values[i].size()}, block.data, block.bytes));
    }
    first = end;
  }
  return absl::OkStatus();
}

absl::Status PutRows(const ColdBlock& block, rocksdb::WriteBatch* batch) {
  const std::string key = RowsKey(block.id);
  const std::string trailer = EncodeRowsTrailer(block.id, block.data, block.bytes);
  const rocksdb::Slice key_slice(key);
  const rocksdb::Slice parts[] = {rocksdb::Slice(block.data, block.bytes), trailer};
  return FromRocksDb(batch->Put(rocksdb::SliceParts(&key_slice, 1), rocksdb::SliceParts(parts, 2)));
}

absl::Status WriteShared(const std::vector<const ColdBlock*>& blocks, Database* database) {
  Database::Use use(database);
  WAGGLE_RETURN_IF_ERROR(use.status());
  rocksdb::WriteBatch batch;
  for (const ColdBlock* block : blocks) {
    PutTieredBlock(*block->durable, block->data, database, &batch);
  }
  absl::Status status = database->Write(&batch, /*sync=*/false);
  if (!status.ok()) {
    use.TryResume();
  }
  return status;
}

}  // namespace

absl::StatusOr<DiskRows::Open> DiskRows::Databases() {
  MutexLock lock(&mutex_);
  if (database_ == nullptr) {
    return absl::CancelledError("the replay server is stopping");
  }
  return Open{database_, own_};
}

absl::Status DiskRows::MakeOwn() {
  WAGGLE_ASSIGN_OR_RETURN(const Open open, Databases());
  if (open.own != nullptr) {
    return absl::OkStatus();
  }
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<ColdDatabase> own, ColdDatabase::Create(path_, env_));
  MutexLock lock(&mutex_);
  if (database_ != nullptr) {
    own_.swap(own);  // Otherwise it is closed again, outside the lock.
  }
  return absl::OkStatus();
}

absl::Status DiskRows::Write(absl::Span<const ColdBlock> blocks) {
  std::vector<const ColdBlock*> shared;
  rocksdb::WriteBatch own;
  for (const ColdBlock& block : blocks) {
    if (block.durable != nullptr) {
      shared.push_back(&block);
    } else {
      WAGGLE_RETURN_IF_ERROR(PutRows(block, &own));
    }
  }
  if (own.Count() > 0) {
    WAGGLE_RETURN_IF_ERROR(MakeOwn());
  }
  WAGGLE_ASSIGN_OR_RETURN(const Open open, Databases());
  if (own.Count() > 0 && open.own == nullptr) {
    return absl::CancelledError("the replay server is stopping");
  }
  if (own.Count() > 0) {
    WAGGLE_RETURN_IF_ERROR(open.own->Write(&own));
  }
  return shared.empty() ? absl::OkStatus() : WriteShared(shared, open.database.get());
}

absl::Status DiskRows::Read(absl::Span<const ColdBlock> blocks) {
  WAGGLE_ASSIGN_OR_RETURN(const Open open, Databases());
  std::vector<std::string> shared_keys;
  std::vector<std::string> own_keys;
  std::vector<const ColdBlock*> shared;
  std::vector<const ColdBlock*> own;
  for (const ColdBlock& block : blocks) {
    if (block.durable != nullptr) {
      shared_keys.push_back(RowsKey(block.durable->id));
      shared.push_back(&block);
    } else {
      own_keys.push_back(RowsKey(block.id));
      own.push_back(&block);
    }
  }
  if (!shared.empty()) {
    const Database::Use use(open.database.get());
    WAGGLE_RETURN_IF_ERROR(use.status());
    WAGGLE_RETURN_IF_ERROR(ReadAll(OnceOptions(), open.database->get(),
                                   open.database->family(Database::Family::kBlocks), shared_keys, shared));
  }
  if (own.empty()) {
    return absl::OkStatus();
  }
  if (open.own == nullptr) {
    return absl::DataLossError(absl::StrCat(path_, " is not open"));
  }
  const ColdDatabase::Use use(open.own.get());
  WAGGLE_ASSIGN_OR_RETURN(rocksdb::DB* const database, use.get());
  return ReadAll(OwnOptions(), database, database->DefaultColumnFamily(), own_keys, own);
}

absl::Status DiskRows::Delete(absl::Span<const Gone> blocks) {
  WAGGLE_ASSIGN_OR_RETURN(const Open open, Databases());
  const Database::Use use(open.database.get());
  WAGGLE_RETURN_IF_ERROR(use.status());
  rocksdb::WriteBatch shared;
  rocksdb::WriteBatch own;
  for (const Gone& block : blocks) {
    if (block.durable) {
      DeleteBlock(block.id, open.database.get(), &shared);
    } else {
      WAGGLE_RETURN_IF_ERROR(FromRocksDb(own.Delete(RowsKey(block.id))));
    }
  }
  if (own.Count() > 0 && open.own != nullptr) {
    WAGGLE_RETURN_IF_ERROR(open.own->Write(&own));
  }
  return shared.Count() > 0 ? open.database->Write(&shared, /*sync=*/false) : absl::OkStatus();
}

void DiskRows::Close() {
  std::shared_ptr<Database> database;  // Closed outside the lock.
  std::shared_ptr<ColdDatabase> own;
  MutexLock lock(&mutex_);
  database.swap(database_);
  own.swap(own_);
}

}  // namespace waggle
