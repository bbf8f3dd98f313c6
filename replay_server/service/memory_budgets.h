#pragma once

#include <cstdint>

#include "replay_server/service/replay_server.h"

// How much memory a replay server may have for what. Beside its tables' rows there are those of blocks that have come
// and are not in, the newest ones of all writers, which windows to come may reach back to, batches on their way out,
// rows that these are lent or that have left meanwhile, and what writers that are away left behind: each may have a
// fixed part of what the tables may, up to the default of its option.

namespace waggle {

// Sets the bytes of the tables and of all that is beside them.
void SetMemoryBudgets(int64_t table_bytes, ReplayServerOptions* options);

// What is beside the tables, together.
int64_t BytesBesideTables(const ReplayServerOptions& options);

// What tables may have of a machine's memory, so that they and what is beside them have at most four fifths of it: the
// rest is for the transport, for the disk, for the program, and for others.
int64_t DefaultTableBytes(int64_t machine_bytes);

}  // namespace waggle
