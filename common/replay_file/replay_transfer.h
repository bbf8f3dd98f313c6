#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/replay.h"
#include "common/base/stop_token.h"
#include "common/replay_file/replay_file.h"

// Tables of a running replay server to and from files.

namespace waggle {

struct TransferProgress {
  uint64_t items = 0;
  uint64_t of_items = 0;  // About.
  uint64_t bytes = 0;     // Of the file; of an export.
  absl::Duration idle;    // Since the last item was acknowledged; of an import.
};
using OnTransfer = std::function<void(const TransferProgress&)>;

// Writes what the table at this server (HOST:PORT) holds to a new file. NOT_FOUND for an unknown table, ALREADY_EXISTS
// where the path is taken; nothing is left behind after an error. `name`: what the file says that the table is called;
// empty: as it is.
absl::StatusOr<TransferProgress> ExportTable(const std::string& address, const std::string& table,
                                             const std::string& path, const StopToken& stop,
                                             const OnTransfer& on_progress = nullptr, const std::string& name = "");

struct ImportOptions {
  // How long to wait while nothing is acknowledged: because the server is away, or because the table's rate limiter
  // lets nobody insert.
  absl::Duration idle_timeout = absl::InfiniteDuration();
  // Called about once a second, from a thread of its own, with the items that were acknowledged so far. May block.
  OnTransfer on_progress = nullptr;
  // Says what is waited for, for the error after `idle_timeout`. Called from that thread. May block.
  std::function<std::string()> why_idle = nullptr;
};

// Inserts a file's items into a table, named `table` or else as the file says, which is created as the file says where
// it is not there. FAILED_PRECONDITION where it is there and differs. Blocks while the table has no room;
// DEADLINE_EXCEEDED, with how many items were inserted, after `idle_timeout`. CANCELLED after a stop. DATA_LOSS for a
// damaged file, ABORTED where the server lost rows that the items need.
absl::StatusOr<TransferProgress> ImportTable(const std::string& path, const std::string& table,
                                             ReplayConnection* connection, const StopToken& stop,
                                             const ImportOptions& options = {});

}  // namespace waggle
