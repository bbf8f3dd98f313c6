#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "common/api/batch_layout.h"
#include "common/api/replay.h"
#include "common/api/table_config.h"
#include "replay_server/table/row_layout.h"
#include "replay_server/table/table_state.h"

namespace waggle {

// INVALID_ARGUMENT unless `layout` is that of a batch of `batch_size` items of this table, which Gather relies on.
absl::Status CheckLayout(const TableConfig& config, const BatchLayout& layout, int64_t batch_size);

// Copies the rows of sampled items into one columnar batch, as the table's view says: the work that a table leaves to
// be done outside its lock. `rows` is the layout of the table's signature, `layout` has passed CheckLayout for as many
// items as were sampled.
SampledBatch Gather(const TableConfig& config, const RowLayout& rows, std::shared_ptr<const BatchLayout> layout,
                    const Sampled& sampled);

}  // namespace waggle
