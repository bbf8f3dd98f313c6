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

// Keeps the rows of blocks with a tier in memory while they are read, and the blocks alive. Not thread-safe.
class PinnedRows {
 public:
  PinnedRows() = default;
  ~PinnedRows() { Unpin(); }
  PinnedRows(const PinnedRows&) = delete;
  PinnedRows& operator=(const PinnedRows&) = delete;

  // Unpins earlier rows, and reads those that are not in memory. May wait for other readers: not for transport threads,
  // under a lock, or with other rows pinned. DATA_LOSS, naming the table, if rows cannot be read.
  absl::Status Pin(const Chunk& chunk);
  absl::Status Pin(const Window& window);
  // Pins as many of the first items as should be pinned together, at least one. Returns their number.
  absl::StatusOr<size_t> Pin(absl::Span<const SampledItem> items);

  // Does not wait: returns false and pins nothing unless all are in memory.
  bool TryPin(absl::Span<const Chunk* const> chunks);
  // The same for items. Also false if other readers wait for memory, so that it does not overtake them.
  bool TryPin(absl::Span<const SampledItem> items);

  void Unpin();

 private:
  // `rows` must be of different blocks.
  absl::Status PinAll(std::vector<TieredRows*> rows);
  bool TryPinAll(std::vector<TieredRows*> rows, bool in_turn);
  // `rows` must be pinned and of one tier.
  void Keep(std::vector<TieredRows*> rows);

  std::vector<std::vector<TieredRows*>> pinned_;  // By tier.
};

}  // namespace waggle
