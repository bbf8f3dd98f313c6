#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"
#include "common/replay/file/replay_file.h"
#include "common/replay/ports/replay.h"

// Copies tables of a running replay server to and from files.

namespace waggle {

struct TransferProgress {
  uint64_t items = 0;
  uint64_t of_items = 0;  // An estimate.
  uint64_t bytes = 0;     // In the file, for an export.
  absl::Duration idle;    // Since the last acknowledgement, for an import.
};
using OnTransfer = std::function<void(const TransferProgress&)>;

// Writes a table of this server (HOST:PORT) to a new file. NOT_FOUND for an unknown table; ALREADY_EXISTS if the path
// is taken. Errors leave no file. `name` is the table's name in the file; empty: its own.
absl::StatusOr<TransferProgress> ExportTable(const std::string& address, const std::string& table,
                                             const std::string& path, const StopToken& stop,
                                             const OnTransfer& on_progress = nullptr, const std::string& name = "");

struct ImportOptions {
  // The longest wait for an acknowledgement, while the server is away or the table's rate limiter blocks inserts.
  absl::Duration idle_timeout = absl::InfiniteDuration();
  // Called about once a second from another thread, with the acknowledged items. May block.
  OnTransfer on_progress = nullptr;
  // Returns the reason of the wait, for the error after `idle_timeout`. Called from the same thread. May block.
  std::function<std::string()> why_idle = nullptr;
};

// Inserts a file's items into `table`, or the file's table if that is empty. Creates a missing table with the file's
// configuration. FAILED_PRECONDITION if an existing one differs. Blocks while the table has no room; DEADLINE_EXCEEDED,
// with the number of inserted items, after `idle_timeout`. CANCELLED after a stop. DATA_LOSS for a damaged file;
// ABORTED if the server lost rows of the items.
absl::StatusOr<TransferProgress> ImportTable(const std::string& path, const std::string& table,
                                             ReplayConnection* connection, const StopToken& stop,
                                             const ImportOptions& options = {});

}  // namespace waggle
