#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "replay_server/rows/chunk.h"

namespace waggle {

// A block of rows on disk.
struct ColdBlock {
  // Set if the journal may write the block too. Its one record has the journal's id. Null if `id` is its id.
  const DurableBlock* durable = nullptr;
  uint64_t id = 0;
  char* data = nullptr;
  size_t bytes = 0;
};

// The disk, as ChunkTier uses it. Thread-safe; every call may block.
class ColdRows {
 public:
  virtual ~ColdRows() = default;

  // Writes all or nothing. RESOURCE_EXHAUSTED if the disk is full. After any error the blocks may be written again.
  virtual absl::Status Write(absl::Span<const ColdBlock> blocks) = 0;
  // Fills in the rows of written blocks. DATA_LOSS if they cannot be read or are corrupt, UNAVAILABLE if they may be
  // read later, CANCELLED if the server is about to end.
  virtual absl::Status Read(absl::Span<const ColdBlock> blocks) = 0;
  // A block that nothing refers to any more. If Delete fails, its record only takes space on the disk.
  struct Gone {
    uint64_t id = 0;
    bool durable = false;  // `id` is a DurableBlock's.
  };
  virtual absl::Status Delete(absl::Span<const Gone> blocks) = 0;
};

}  // namespace waggle
