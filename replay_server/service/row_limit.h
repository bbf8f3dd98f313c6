#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/rpc/channel.h"
#include "common/table_config/table_config.h"
#include "replay_server/base/refusal_reasons.h"

namespace waggle {

// INVALID_ARGUMENT for a table whose rows no writer could send, for a row has to fit into a message: told when it is
// created, rather than to each of them. The configuration is valid otherwise.
inline absl::Status CheckRowFits(const TableConfig& config) {
  constexpr int64_t kMaxRowBytes = kMaxMessageBytes - (int64_t{1} << 20);  // The rest is for what stands about it.
  int64_t bytes = 0;
  for (const ArraySpec& column : config.signature) {
    bytes += column.NumBytes();  // Cannot overflow: see kMaxArrayBytes.
  }
  return bytes <= kMaxRowBytes ? absl::OkStatus()
                               : Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadConfiguration, "table \"",
                                         config.name, "\": signature: a row has ", bytes, " bytes; at most ",
                                         kMaxRowBytes, " are allowed, for a row has to fit into a message");
}

}  // namespace waggle
