#pragma once

#include <memory>
#include <vector>

#include "replay_server/rows/block_ledger.h"
#include "replay_server/table/table.h"

namespace waggle {

// The home of blocks of a writer to these tables. `log` saves those that need it; it may be null.
BlockHome HomeOf(const TableLog* log, const std::vector<std::shared_ptr<Table>>& tables);

}  // namespace waggle
