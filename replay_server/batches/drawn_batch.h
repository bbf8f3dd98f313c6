#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "common/table_config/batch_layout.h"
#include "replay_server/batches/gather.h"
#include "replay_server/batches/pinned_rows.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

// Items that a table has drawn, with their rows still where the table has them, to be put together as a batch by
// whoever they are for. Its copies share the items. Any thread may use it, at any time, and after the table is gone.
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

  // In memory that it is given: as many bytes as the layout has, aligned to 64. Where the table has a memory_limit it
  // may read from the disk, unless the rows are pinned, and so is for a thread that may wait. DATA_LOSS for rows that
  // were damaged.
  absl::StatusOr<SampledBatch> Gather(std::shared_ptr<char> bytes) const {
    return waggle::Gather(*config_, *rows_, layout_, *sampled_, std::move(bytes), pinned_ != nullptr);
  }

  // Pins all rows for as long as this, and what is copied from it from now on, is there. Never waits: false, with
  // nothing pinned, where some are on disk, or where other readers wait for memory.
  bool TryPin() {
    auto pinned = std::make_shared<PinnedRows>();
    if (pinned->TryPin(sampled_->items)) {
      pinned_ = std::move(pinned);
    }
    return pinned_ != nullptr;
  }

  // Whether there are rows large enough to be sent from where they lie. That spares a copy, and keeps HeldBytes() of
  // memory from being freed until they are sent.
  bool has_large_rows() const { return HasLargeRows(*config_, *rows_); }
  int64_t HeldBytes() const { return BlockBytes(*sampled_); }
  // `allocate` gives memory for all that is copied; `keep` is kept as long as the slices are.
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
  std::shared_ptr<const PinnedRows> pinned_;  // Null while they are not. Gone before the rows are.
};

}  // namespace waggle
