#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "replay_server/rows/chunk.h"

namespace waggle {

// A block of rows as the disk knows it.
struct ColdBlock {
  // Of a block that a journal may write as well: it has one record, under its number there, whoever writes it. Null for
  // all others, which have the number below.
  const DurableBlock* durable = nullptr;
  uint64_t id = 0;
  char* data = nullptr;
  size_t bytes = 0;
};

// Where rows are that are not in memory: the port of ChunkTier to the disk. Thread-safe; every call may block.
class ColdRows {
 public:
  virtual ~ColdRows() = default;

  // All or nothing. RESOURCE_EXHAUSTED for a full disk; whatever the error, the same blocks may be written again.
  virtual absl::Status Write(absl::Span<const ColdBlock> blocks) = 0;
  // Fills in the rows of blocks that were written. DATA_LOSS where they cannot be read, or are not what was written;
  // UNAVAILABLE where they may be later; CANCELLED once the server is about to end.
  virtual absl::Status Read(absl::Span<const ColdBlock> blocks) = 0;
  // Of blocks that nothing refers to any more. An error only costs their room on the disk.
  struct Gone {
    uint64_t id = 0;
    bool durable = false;  // `id` is that of a DurableBlock.
  };
  virtual absl::Status Delete(absl::Span<const Gone> blocks) = 0;
};

}  // namespace waggle
