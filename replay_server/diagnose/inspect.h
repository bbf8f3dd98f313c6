#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "replay_server/table/table.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

inline constexpr uint32_t kMaxInspectedItems = 1000;

// Answers a request about a table's items, for people. The table's lock is held for bounded steps only: a look at all
// items of a large table takes long and sees it while it changes. INVALID_ARGUMENT for a token of another order, an
// unknown order, or more items than are allowed; NOT_FOUND for columns of an item that the table does not have;
// DATA_LOSS for damaged rows. Blocks for rows on disk if columns are asked for.
absl::Status Inspect(const Table& table, const v1::InspectRequest& request, v1::InspectResponse* response);

}  // namespace waggle
