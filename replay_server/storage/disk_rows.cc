#include "replay_server/storage/disk_rows.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "replay_server/storage/block_records.h"
#include "replay_server/storage/records.h"
#include "replay_server/storage/shared_loop.h"

namespace waggle {
namespace {

uint64_t IdOf(const ColdBlock& block) {
  return block.durable != nullptr ? block.durable->id : block.id;
}

// Values may exceed the cache and are rarely read again soon.
rocksdb::ReadOptions OnceOptions() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  return options;
}

// Bytes of one read. They are in memory twice for a moment, in each reading thread.
constexpr size_t kReadBytes = size_t{1} << 20;
constexpr int kReaders = 3;  // Besides the caller. More would only wait for the same disk.
constexpr size_t kMaxQueued = 1024;

// Options for files of this process. Rows have their own checksums, and RocksDB's would take most of the time of a
// read. In files of unknown origin RocksDB's also protect its structures.
rocksdb::ReadOptions OwnOptions() {
  rocksdb::ReadOptions options = OnceOptions();
  options.verify_checksums = false;
  return options;
}

// Blocks that are read together.
struct Share {
  size_t first = 0;
  size_t end = 0;
};

std::vector<Share> CutIntoShares(const std::vector<const ColdBlock*>& blocks) {
  std::vector<Share> shares;
  for (size_t first = 0; first < blocks.size();) {
    size_t bytes = 0;
    size_t end = first;
    for (; end < blocks.size() && (end == first || bytes + blocks[end]->bytes <= kReadBytes); ++end) {
      bytes += blocks[end]->bytes;
    }
    shares.push_back({first, end});
    first = end;
  }
  return shares;
}

absl::Status ReadShare(const rocksdb::ReadOptions& options, rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                       const std::vector<const ColdBlock*>& blocks, const Share& share) {
  const size_t count = share.end - share.first;
  std::vector<std::string> keys;
  std::vector<rocksdb::Slice> slices;
  keys.reserve(count);
  for (size_t i = share.first; i < share.end; ++i) {
    keys.push_back(RowsKey(IdOf(*blocks[i])));
    slices.emplace_back(keys.back());
  }
  std::vector<rocksdb::PinnableSlice> values(count);
  std::vector<rocksdb::Status> statuses(count);
  database->MultiGet(options, family, count, slices.data(), values.data(), statuses.data());
  for (size_t i = 0; i < count; ++i) {
    WAGGLE_RETURN_IF_ERROR(FromRocksDb(statuses[i]));
    const ColdBlock& block = *blocks[share.first + i];
    WAGGLE_RETURN_IF_ERROR(DecodeRows(IdOf(block), {values[i].data(), values[i].size()}, block.data, block.bytes));
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

DiskRows::DiskRows(std::shared_ptr<Database> database, std::string path, rocksdb::Env* env)
    : path_(std::move(path)), env_(env), database_(std::move(database)), readers_("cold-rows", kReaders, kMaxQueued) {}

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
    own_.swap(own);  // Otherwise it is closed, outside the lock.
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

absl::Status DiskRows::ReadAll(const rocksdb::ReadOptions& options, rocksdb::DB* database,
                               rocksdb::ColumnFamilyHandle* family, const std::vector<const ColdBlock*>& blocks) {
  const std::vector<Share> shares = CutIntoShares(blocks);
  std::vector<absl::Status> statuses(shares.size());
  SharedLoop(&readers_, kReaders, shares.size(),
             [&](size_t share) { statuses[share] = ReadShare(options, database, family, blocks, shares[share]); });
  for (absl::Status& status : statuses) {
    WAGGLE_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status DiskRows::Read(absl::Span<const ColdBlock> blocks) {
  WAGGLE_ASSIGN_OR_RETURN(const Open open, Databases());
  std::vector<const ColdBlock*> shared;
  std::vector<const ColdBlock*> own;
  for (const ColdBlock& block : blocks) {
    (block.durable != nullptr ? shared : own).push_back(&block);
  }
  if (!shared.empty()) {
    const Database::Use use(open.database.get());
    WAGGLE_RETURN_IF_ERROR(use.status());
    WAGGLE_RETURN_IF_ERROR(
        ReadAll(OnceOptions(), open.database->get(), open.database->family(Database::Family::kBlocks), shared));
  }
  if (own.empty()) {
    return absl::OkStatus();
  }
  if (open.own == nullptr) {
    return absl::DataLossError(absl::StrCat(path_, " is not open"));
  }
  const ColdDatabase::Use use(open.own.get());
  WAGGLE_ASSIGN_OR_RETURN(rocksdb::DB* const database, use.get());
  return ReadAll(OwnOptions(), database, database->DefaultColumnFamily(), own);
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
  std::shared_ptr<Database> database;  // Destroyed outside the lock.
  std::shared_ptr<ColdDatabase> own;
  MutexLock lock(&mutex_);
  database.swap(database_);
  own.swap(own_);
}

}  // namespace waggle
