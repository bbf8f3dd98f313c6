#include "replay_server/storage/block_records.h"

#include <string>

#include "common/base/check.h"
#include "replay_server/storage/records.h"

namespace waggle {
namespace {

// Batches fail only for values of more than 4 GiB.
void Check(const rocksdb::Status& status) {
  WAGGLE_CHECK(status.ok(), status.ToString());
}

}  // namespace

void PutTieredBlock(const DurableBlock& block, const char* data, Database* database, rocksdb::WriteBatch* batch) {
  rocksdb::ColumnFamilyHandle* const blocks = database->family(Database::Family::kBlocks);
  Check(batch->Put(blocks, HeadKey(block.id), EncodeBlockHead(block)));
  const std::string key = RowsKey(block.id);
  const std::string trailer = EncodeRowsTrailer(block.id, data, block.bytes);
  const rocksdb::Slice key_slice(key);
  const rocksdb::Slice parts[] = {rocksdb::Slice(data, block.bytes), trailer};
  Check(batch->Put(blocks, rocksdb::SliceParts(&key_slice, 1), rocksdb::SliceParts(parts, 2)));
}

void DeleteBlock(uint64_t block, Database* database, rocksdb::WriteBatch* batch) {
  rocksdb::ColumnFamilyHandle* const blocks = database->family(Database::Family::kBlocks);
  if ((block & kTieredBlock) == 0) {
    Check(batch->Delete(blocks, BlockKey(block)));
    return;
  }
  Check(batch->Delete(blocks, HeadKey(block)));
  Check(batch->Delete(blocks, RowsKey(block)));
}

}  // namespace waggle
