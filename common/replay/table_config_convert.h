#pragma once

#include "absl/status/statusor.h"
#include "common/config/table/table_config.h"
#include "waggle/v1/replay.pb.h"

// Converts a table's configuration to and from its message.

namespace waggle {

v1::TableConfig ToProto(const TableConfig& config);
// INVALID_ARGUMENT if the result is not valid (TableConfig::Validate).
absl::StatusOr<TableConfig> FromProto(const v1::TableConfig& proto);

}  // namespace waggle
