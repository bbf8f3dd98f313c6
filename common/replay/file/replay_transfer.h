#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"
#include "common/replay/file/replay_file.h"
#include "common/replay/ports/replay.h"

// Tables of a running replay server to and from files.

namespace waggle {

struct TransferProgress {
  uint64_t items = 0;
  uint64_t of_items = 0;  // About.
  uint64_t bytes = 0;     // In the file; for an export.
  absl::Duration idle;    // Since the last item was acknowledged; for an import.
};
using OnTransfer = std::function<void(const TransferProgress&)>;

// Writes the items of the table at this server (HOST:PORT) to a new file. NOT_FOUND for an unknown table,
// ALREADY_EXISTS if the path is taken; nothing is left behind after an error. `name`: the table's name in the file;
// empty: its own.
absl::StatusOr<TransferProgress> ExportTable(const std::string& address, const std::string& table,
                                             const std::string& path, const StopToken& stop,
                                             const OnTransfer& on_progress = nullptr, const std::string& name = "");

struct ImportOptions {
  // The longest wait without an acknowledgement: because the server is away, or because the table's rate limiter blocks
  // inserts.
  absl::Duration idle_timeout = absl::InfiniteDuration();
  // Called about once a second, from a thread of its own, with the number of acknowledged items. May block.
  OnTransfer on_progress = nullptr;
  // Returns the reason of the wait, for the error after `idle_timeout`. Called from that thread. May block.
  std::function<std::string()> why_idle = nullptr;
};

// Inserts a file's items into a table, `table` or else the file's. A missing table is created with the file's
// configuration. FAILED_PRECONDITION if it exists and differs. Blocks while the table has no room; DEADLINE_EXCEEDED,
// with the number of inserted items, after `idle_timeout`. CANCELLED after a stop. DATA_LOSS for a damaged file,
// ABORTED if the server lost rows that the items need.
absl::StatusOr<TransferProgress> ImportTable(const std::string& path, const std::string& table,
                                             ReplayConnection* connection, const StopToken& stop,
                                             const ImportOptions& options = {});

}  // namespace waggle
