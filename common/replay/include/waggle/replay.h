#pragma once

// The C++ client of Waggle's replay server; docs/replay_client.md shows its use.
//
//   NewGrpcReplayConnection   the way to a buffer: one server, or several as one
//   ReplayTables              creating, looking at and changing a server's tables
//   RowWriter                 writing rows and items one by one
//   ReplayWriter              writing whole blocks
//   ReplaySampler             sampling batches
//   PriorityUpdater           sending priorities back
//   ReasonOf                  why a server refused something, in one word

#include "common/base/reason.h"
#include "common/config/table/table_config.h"
#include "common/replay/blocks/row_writer.h"
#include "common/replay/ports/replay.h"
#include "common/replay/replay_client.h"
#include "common/replay/replay_tables.h"
