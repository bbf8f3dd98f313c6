#pragma once

#include "absl/status/statusor.h"
#include "common/config/table/table_config.h"
#include "waggle/v1/replay.pb.h"

// A table's configuration to and from its message, for the server and for its clients.

namespace waggle {

v1::TableConfig ToProto(const TableConfig& config);
// What comes out is valid (TableConfig::Validate). INVALID_ARGUMENT, saying what is wrong.
absl::StatusOr<TableConfig> FromProto(const v1::TableConfig& proto);

}  // namespace waggle
