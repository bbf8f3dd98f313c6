#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/chunk_tier.h"

namespace waggle {

// Keeps rows in memory while they are read: of those blocks that have a tier, the others are there always. It keeps the
// blocks alive, too. Not thread-safe.
class PinnedRows {
 public:
  PinnedRows() = default;
  ~PinnedRows() { Unpin(); }
  PinnedRows(const PinnedRows&) = delete;
  PinnedRows& operator=(const PinnedRows&) = delete;

  // Each of these lets go of what was pinned before. They read what is not in memory, in one go, and may wait for other
  // readers: never to be called by one of the transport's threads, under a lock, or by who has others. DATA_LOSS,
  // naming the table, for rows that cannot be read.
  absl::Status Pin(const Chunk& chunk);
  absl::Status Pin(const Window& window);
  // Of as many of the first items as should be pinned together, at least of one. Returns how many.
  absl::StatusOr<size_t> Pin(absl::Span<const SampledItem> items);

  // Never waits: false, with nothing pinned, unless all are in memory.
  bool TryPin(absl::Span<const Chunk* const> chunks);
  // The same of all of these items; false also where other readers wait for memory, whom this would go past.
  bool TryPin(absl::Span<const SampledItem> items);

  void Unpin();

 private:
  // The rows of different blocks.
  absl::Status PinAll(std::vector<TieredRows*> rows);
  bool TryPinAll(std::vector<TieredRows*> rows, bool in_turn);
  // Of one tier, which are pinned.
  void Keep(std::vector<TieredRows*> rows);

  std::vector<std::vector<TieredRows*>> pinned_;  // By tier.
};

}  // namespace waggle
