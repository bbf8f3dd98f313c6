#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/config/table/batch_layout.h"
#include "common/replay/ports/replay.h"
#include "replay_server/batches/gather.h"
#include "replay_server/batches/pinned_rows.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

// Drawn items whose rows are still in the table. The receiver gathers them to a batch. Copies share the items. Any
// thread may use it, even after the table is gone.
class DrawnBatch {
 public:
  // `table` keeps the configuration and the rows' layout alive.
  DrawnBatch(std::shared_ptr<const void> table, const TableConfig& config, const RowLayout& rows,
             std::shared_ptr<const BatchLayout> layout, std::shared_ptr<const Sampled> sampled)
      : table_(std::move(table)),
        config_(&config),
        rows_(&rows),
        layout_(std::move(layout)),
        sampled_(std::move(sampled)) {}

  // Gathers into `bytes`, which must have the layout's size and be aligned to 64 bytes. In a table with a memory_limit
  // unpinned rows may be read from disk, which blocks. DATA_LOSS if rows are damaged.
  absl::StatusOr<SampledBatch> Gather(std::shared_ptr<char> bytes) const {
    return waggle::Gather(*config_, *rows_, layout_, *sampled_, std::move(bytes), pinned_ != nullptr);
  }

  // Pins all rows while this or a later copy of it lives. Does not wait: returns false and pins nothing if some rows
  // are on disk or other readers wait.
  bool TryPin() {
    auto pinned = std::make_shared<PinnedRows>();
    if (pinned->TryPin(sampled_->items)) {
      pinned_ = std::move(pinned);
    }
    return pinned_ != nullptr;
  }

  // True if rows are large enough to be sent in place. That spares a copy, but keeps HeldBytes() of the table's memory
  // until they are sent.
  bool has_large_rows() const { return HasLargeRows(*config_, *rows_); }
  int64_t HeldBytes() const { return BlockBytes(*sampled_); }
  // `allocate` provides memory for copies. The slices keep `keep` alive.
  absl::StatusOr<SlicedBatch> GatherSlices(const std::function<std::shared_ptr<char>(size_t)>& allocate,
                                           std::shared_ptr<const void> keep) const {
    const auto owner =
        std::make_shared<const std::pair<DrawnBatch, std::shared_ptr<const void>>>(*this, std::move(keep));
    return waggle::GatherSlices(*config_, *rows_, layout_, *sampled_, owner, allocate);
  }

 private:
  std::shared_ptr<const void> table_;
  const TableConfig* config_;
  const RowLayout* rows_;
  std::shared_ptr<const BatchLayout> layout_;
  std::shared_ptr<const Sampled> sampled_;
  std::shared_ptr<const PinnedRows> pinned_;  // Null if unpinned. Destroyed before the rows.
};

}  // namespace waggle
