#pragma once

#include <rocksdb/write_batch.h>

#include <cstdint>

#include "replay_server/rows/chunk.h"
#include "replay_server/storage/database.h"

namespace waggle {

// Adds the two records of a block that has a tier. `data` has its rows.
void PutTieredBlock(const DurableBlock& block, const char* data, Database* database, rocksdb::WriteBatch* batch);

// Deletes the records of a block of either kind.
void DeleteBlock(uint64_t block, Database* database, rocksdb::WriteBatch* batch);

}  // namespace waggle
