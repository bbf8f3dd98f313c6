#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/tensor/byte_slices.h"
#include "common/config/table/batch_layout.h"
#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

// INVALID_ARGUMENT unless `layout` is that of a batch of `batch_size` items of this table. Gather relies on it.
absl::Status CheckLayout(const TableConfig& config, const BatchLayout& layout, int64_t batch_size);

// Copies the rows of sampled items into a columnar batch by the table's view, outside the table's lock. In a table with
// a memory_limit unpinned rows may be read from disk, which blocks. `rows` is the layout of the table's signature.
// `layout` must have passed CheckLayout for the number of items (it is not used for none). `bytes` must have the
// layout's size and be aligned to 64 bytes. DATA_LOSS if rows cannot be decompressed or read.
absl::StatusOr<SampledBatch> Gather(const TableConfig& config, const RowLayout& rows,
                                    std::shared_ptr<const BatchLayout> layout, const Sampled& sampled,
                                    std::shared_ptr<char> bytes, bool pinned = false);

// A batch in slices, for sending.
struct SlicedBatch {
  SampledBatch facts;  // Without bytes.
  ByteSlices data;
};

// Gather's bytes without copies of large rows: their slices point to the rows, and share `owner`, which keeps `sampled`
// alive. `allocate` provides memory for the rest, aligned to 64 bytes.
absl::StatusOr<SlicedBatch> GatherSlices(const TableConfig& config, const RowLayout& rows,
                                         std::shared_ptr<const BatchLayout> layout, const Sampled& sampled,
                                         const std::shared_ptr<const void>& owner,
                                         const std::function<std::shared_ptr<char>(size_t)>& allocate);
// True if GatherSlices would leave rows uncopied. Always false with a memory_limit: those tables need Gather.
bool HasLargeRows(const TableConfig& config, const RowLayout& rows);
// The size of the blocks that sampled items keep alive, each counted once.
int64_t BlockBytes(const Sampled& sampled);

// Calls `visit` with one column of an item's rows, context included, in order, for each contiguous run. The rows must
// be pinned, or their table must have no memory_limit. DATA_LOSS if they cannot be decompressed.
absl::Status VisitColumn(const RowLayout& rows, size_t column, const Window& window,
                         const std::function<void(absl::string_view bytes)>& visit);

}  // namespace waggle
