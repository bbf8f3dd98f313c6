#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "common/base/stop_token.h"
#include "common/replay_file/replay_file.h"

// Tables of a running replay server to and from files.

namespace waggle {

struct TransferProgress {
  uint64_t items = 0;
  uint64_t of_items = 0;  // About.
  uint64_t bytes = 0;     // Of the file.
};
using OnTransfer = std::function<void(const TransferProgress&)>;

// Writes what the table at this server (HOST:PORT) holds to a new file. NOT_FOUND for an unknown table, ALREADY_EXISTS
// where the path is taken; nothing is left behind after an error.
absl::StatusOr<TransferProgress> ExportTable(const std::string& address, const std::string& table,
                                             const std::string& path, const StopToken& stop,
                                             const OnTransfer& on_progress = nullptr);

// Inserts a file's items into a table, named `table` or else as the file says, which is created as the file says where
// it is not there. FAILED_PRECONDITION where it is there and differs. Blocks while the table has no room.
absl::StatusOr<TransferProgress> ImportTable(const std::string& path, const std::string& table,
                                             ReplayConnection* connection, const StopToken& stop,
                                             const OnTransfer& on_progress = nullptr);

}  // namespace waggle
