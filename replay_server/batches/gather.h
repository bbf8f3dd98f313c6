#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/api/replay.h"
#include "common/table_config/batch_layout.h"
#include "common/table_config/table_config.h"
#include "common/tensor/byte_slices.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

// INVALID_ARGUMENT unless `layout` is that of a batch of `batch_size` items of this table, which Gather relies on.
absl::Status CheckLayout(const TableConfig& config, const BatchLayout& layout, int64_t batch_size);

// Copies the rows of sampled items into one columnar batch, as the table's view says: the work that a table leaves to
// be done outside its lock. Where the table has a memory_limit, and the rows are not pinned, it may read from the disk,
// and wait for that. `rows` is
// the layout of the table's signature, `layout` has passed CheckLayout for as many items as were sampled (of none it is
// not looked at); `bytes` are as many as the layout has, aligned to 64. DATA_LOSS for rows that cannot be decompressed
// or read.
absl::StatusOr<SampledBatch> Gather(const TableConfig& config, const RowLayout& rows,
                                    std::shared_ptr<const BatchLayout> layout, const Sampled& sampled,
                                    std::shared_ptr<char> bytes, bool pinned = false);

// A batch as it travels: the bytes that it has, in slices.
struct SlicedBatch {
  SampledBatch facts;  // Without the bytes.
  ByteSlices data;
};

// The same bytes as those of Gather, but that large rows are not copied: their slices are where they lie, and share
// `owner`, which keeps `sampled` alive. `allocate` gives memory for the rest, aligned to 64.
absl::StatusOr<SlicedBatch> GatherSlices(const TableConfig& config, const RowLayout& rows,
                                         std::shared_ptr<const BatchLayout> layout, const Sampled& sampled,
                                         const std::shared_ptr<const void>& owner,
                                         const std::function<std::shared_ptr<char>(size_t)>& allocate);
// Whether there is anything that GatherSlices would not copy. Not for a table with a memory_limit: for that there is
// Gather only.
bool HasLargeRows(const TableConfig& config, const RowLayout& rows);
// The memory of the blocks that sampled items keep alive, each counted once.
int64_t BlockBytes(const Sampled& sampled);

// Calls `visit` with the bytes of one column of all rows of an item, context included, in their order and in as many
// runs as they lie in. The rows are pinned, or their table has no memory_limit. DATA_LOSS for rows that cannot be
// decompressed.
absl::Status VisitColumn(const RowLayout& rows, size_t column, const Window& window,
                         const std::function<void(absl::string_view bytes)>& visit);

}  // namespace waggle
