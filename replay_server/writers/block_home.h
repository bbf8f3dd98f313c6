#pragma once

#include <memory>
#include <vector>

#include "replay_server/rows/block_ledger.h"
#include "replay_server/table/table.h"

namespace waggle {

// Where the blocks belong of a writer to these tables, of which those that need it write to `log`, if that is not null.
BlockHome HomeOf(const TableLog* log, const std::vector<std::shared_ptr<Table>>& tables);

}  // namespace waggle
